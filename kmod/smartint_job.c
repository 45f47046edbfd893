// SPDX-License-Identifier: GPL-2.0
/*
 * SPDX-FileCopyrightText: 2026 The smartint authors
 *
 * Users, jobs, and the registration of files with them.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/moduleparam.h>
#include <linux/pid.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "smartint.h"

static unsigned int max_files = 16384;
module_param(max_files, uint, 0644);
MODULE_PARM_DESC(max_files, "Open files of /dev/smartint a user may have");

LIST_HEAD(si_owners);
DEFINE_MUTEX(si_lock);

/*
 * For calls that can be made again: a signal is not kept waiting, and the call is restarted behind
 * its handler whatever that says of restarting. So none fails with EINTR.
 */
static int lock(void)
{
	return mutex_lock_interruptible(&si_lock) ? -ERESTARTNOINTR : 0;
}

static struct si_owner *owner_find(kuid_t uid)
{
	struct si_owner *o;

	list_for_each_entry(o, &si_owners, link) {
		if (uid_eq(o->uid, uid))
			return o;
	}
	return NULL;
}

/* For a file more. Who was not there yet becomes *spare, which is taken. */
static struct si_owner *owner_get(kuid_t uid, struct si_owner **spare)
{
	struct si_owner *o = owner_find(uid);

	if ((o ? o->files : 0) >= READ_ONCE(max_files))
		return ERR_PTR(-EDQUOT);
	if (!o) {
		o = *spare;
		*spare = NULL;
		o->uid = uid;
		INIT_LIST_HEAD(&o->jobs);
		list_add_tail(&o->link, &si_owners);
	}
	++o->files;
	return o;
}

static void owner_put(struct si_owner *o)
{
	if (--o->files)
		return;
	list_del(&o->link);
	kfree(o);
}

/* It takes as long wherever they differ. */
static bool same_secret(const struct si_job *j, const struct smartint_registration *r)
{
	return !((j->secret[0] ^ r->secret[0]) | (j->secret[1] ^ r->secret[1]));
}

static struct si_job *job_find(const struct si_owner *o, const struct smartint_registration *r)
{
	struct si_job *j;

	list_for_each_entry(j, &o->jobs, link) {
		if (j->number == r->job && same_secret(j, r))
			return j;
	}
	return NULL;
}

/* One that was not there yet becomes *spare, which is taken. */
static struct si_job *job_get(struct si_owner *o, const struct smartint_registration *r,
			      struct si_job **spare)
{
	struct si_job *j = job_find(o, r);

	if (j)
		return j;
	j = *spare;
	*spare = NULL;
	j->number = r->job;
	j->secret[0] = r->secret[0];
	j->secret[1] = r->secret[1];
	xa_init_flags(&j->table, XA_FLAGS_ACCOUNT); /* whoever registers pays for its nodes */
	list_add_tail(&j->link, &o->jobs);
	return j;
}

/* Nobody reads a job but through a file of it, or under si_lock. */
static void job_put_if_unused(struct si_job *j)
{
	if (j->ranks || j->wakers)
		return;
	list_del(&j->link);
	xa_destroy(&j->table);
	memzero_explicit(j->secret, sizeof(j->secret));
	kfree(j);
}

struct si_file *si_file_create(kuid_t uid)
{
	struct si_file *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);
	struct si_owner *spare = kzalloc(sizeof(*spare), GFP_KERNEL_ACCOUNT);
	struct si_owner *o = ERR_PTR(-ENOMEM);

	if (f && spare) {
		o = ERR_PTR(lock());
		if (!o) {
			o = owner_get(uid, &spare);
			mutex_unlock(&si_lock);
		}
	}
	kfree(spare);
	if (IS_ERR(o)) {
		kfree(f);
		return ERR_CAST(o);
	}
	init_waitqueue_head(&f->wait);
	f->owner = o;
	f->opener = get_pid(task_tgid(current));
	return f;
}

/*
 * The process that opened the file has ended, every thread of it. Its number would be taken for as
 * long as anybody has a copy of its descriptor, as who rang it may.
 */
static bool opener_is_dead(const struct si_file *f)
{
	struct task_struct *t;
	bool dead;

	rcu_read_lock();
	t = pid_task(f->opener, PIDTYPE_TGID);
	dead = !t || (READ_ONCE(t->exit_state) && thread_group_empty(t));
	rcu_read_unlock();
	return dead;
}

/* Under si_lock, so that whoever has the number now is not released meanwhile. */
static int table_insert(struct si_job *j, u32 rank, struct si_file *f)
{
	int error = xa_insert(&j->table, rank, f, GFP_KERNEL_ACCOUNT);

	if (error != -EBUSY)
		return error;
	if (!opener_is_dead(xa_load(&j->table, rank)))
		return -EEXIST;
	return xa_err(xa_store(&j->table, rank, f, GFP_KERNEL_ACCOUNT));
}

int si_file_register(struct si_file *f, const struct smartint_registration *r)
{
	struct si_job *j, *spare;
	int error;

	if (r->version != SMARTINT_UAPI_VERSION)
		return -EPROTONOSUPPORT;
	switch (r->role) {
	case SMARTINT_ROLE_RANK:
		if (r->rank >= SMARTINT_MAX_RANKS)
			return -EINVAL;
		break;
	case SMARTINT_ROLE_WAKER:
		if (r->rank)
			return -EINVAL;
		break;
	default:
		return -EINVAL;
	}

	spare = kzalloc(sizeof(*spare), GFP_KERNEL_ACCOUNT);
	if (!spare)
		return -ENOMEM;
	error = lock();
	if (error)
		goto out_free;
	if (f->job) {
		error = -EBUSY;
		goto out;
	}
	j = job_get(f->owner, r, &spare);
	f->role = r->role;
	f->rank = r->rank;
	if (r->role == SMARTINT_ROLE_RANK) {
		error = table_insert(j, r->rank, f);
		if (!error)
			++j->ranks;
	} else {
		++j->wakers;
	}
	if (error) {
		job_put_if_unused(j);
		goto out;
	}
	smp_store_release(&f->job, j);	/* pairs with the acquire in registered() */
	wake_up_poll(&f->wait, EPOLLOUT | EPOLLWRNORM);	/* it was EPOLLERR until now */
out:
	mutex_unlock(&si_lock);
out_free:
	kfree(spare);
	return error;
}

/* From release(): no call on this file is under way, and epoll has let go of its wait queue. */
void si_file_destroy(struct si_file *f)
{
	mutex_lock(&si_lock);
	if (f->job) {
		if (f->role == SMARTINT_ROLE_RANK) {
			if (xa_load(&f->job->table, f->rank) == f)	/* else it is another's */
				xa_erase(&f->job->table, f->rank);
			--f->job->ranks;
		} else {
			--f->job->wakers;
		}
		job_put_if_unused(f->job);
	}
	owner_put(f->owner);
	mutex_unlock(&si_lock);
	put_pid(f->opener);
	kfree_rcu(f, rcu);	/* a waker may have found it just now */
}
