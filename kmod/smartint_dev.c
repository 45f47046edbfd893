// SPDX-License-Identifier: GPL-2.0
/*
 * SPDX-FileCopyrightText: 2026 The smartint authors
 *
 * /dev/smartint: ranks sleep here until they are woken (SI 4.3.1).
 *
 * Why no wake-up is lost. A rank's count and its wait queue are under one lock, that of the queue.
 *
 *   sleeping in read()  The reader looks at the count and, if it is 0, puts itself on the queue
 *                       and sets its state to sleeping, all under the lock; it lets go of the lock
 *                       only to sleep. A waker adds to the count and wakes who is on the queue,
 *                       both under the lock. If the waker is first, the reader finds the count; if
 *                       it is second, the waker finds the reader. Awake, the reader looks again
 *                       under the lock.
 *   sleeping in poll()  poll_wait() puts the caller on the queue, under the lock, before the count
 *                       is read. A waker that was before that has made the count visible by
 *                       releasing the lock; one that comes later finds the caller on the queue.
 *   several readers     All who sleep are woken. Waking one would do, as one takes it all, but
 *                       that one may be leaving because of a signal, and the others sleep on.
 *                       Who asks for that by EPOLLEXCLUSIVE gets it, as with an eventfd.
 *   a bad address       What was taken and could not be handed over is added again.
 *
 * Nothing happens at the end of a process but release(), when the last descriptor is closed, which
 * may be a copy that another process took. Until then the file is woken as before, unless its
 * number is registered anew. A process killed in read() leaves the queue as it does at a signal.
 */
#include <linux/build_bug.h>
#include <linux/compat.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "smartint.h"

static_assert(sizeof(struct smartint_version) == 8);
static_assert(sizeof(struct smartint_registration) == 32);
static_assert(offsetof(struct smartint_registration, secret) == 16);
static_assert(sizeof(struct smartint_wake) == 8);

#define WAKES_AT_ONCE 32	/* of a batch, copied to the stack */

/* The file's job, NULL if it is not registered. Whose it is, is not looked at. */
static struct si_job *registered(const struct si_file *f)
{
	return smp_load_acquire(&f->job);	/* pairs with the release in si_file_register() */
}

/*
 * A descriptor that was handed to another user is of no use to that user. The process that opened it
 * keeps it, also if it has become another user since (a daemon that gives up root).
 */
static bool same_user(const struct si_file *f)
{
	return uid_eq(current_euid(), f->owner->uid) || task_tgid(current) == f->opener;
}

static void post_locked(struct si_file *f, u64 count)
{
	f->count = count > U64_MAX - 1 - f->count ? U64_MAX - 1 : f->count + count;
	if (waitqueue_active(&f->wait))
		wake_up_locked_poll(&f->wait, EPOLLIN | EPOLLRDNORM);
}

static void post(struct si_file *f, struct si_counters *counters, u64 count)
{
	unsigned long flags;

	if (!count)
		return;
	atomic64_inc(&counters->wakes);
	spin_lock_irqsave(&f->wait.lock, flags);
	if (f->count)
		atomic64_inc(&counters->merged);
	post_locked(f, count);
	spin_unlock_irqrestore(&f->wait.lock, flags);
}

static ssize_t si_read(struct file *file, char __user *buffer, size_t bytes, loff_t *unused)
{
	struct si_file *f = file->private_data;
	struct si_job *j = registered(f);
	int error = 0;
	u64 count;

	if (!j)
		return -ENOTCONN;
	if (!same_user(f))
		return -EPERM;
	if (f->role != SMARTINT_ROLE_RANK || bytes < sizeof(count))
		return -EINVAL;

	spin_lock_irq(&f->wait.lock);
	if (!f->count) {
		if (file->f_flags & O_NONBLOCK) {
			error = -EAGAIN;
		} else {
			atomic64_inc(&j->counters.waits);
			error = wait_event_interruptible_locked_irq(f->wait, f->count);
		}
	}
	count = error ? 0 : f->count;
	if (count)
		f->count = 0;
	spin_unlock_irq(&f->wait.lock);

	if (error) {
		if (error == -EAGAIN)
			atomic64_inc(&j->counters.spurious);
		return error;
	}
	if (copy_to_user(buffer, &count, sizeof(count))) {
		spin_lock_irq(&f->wait.lock);
		post_locked(f, count);
		spin_unlock_irq(&f->wait.lock);
		return -EFAULT;
	}
	return sizeof(count);
}

static bool wake_rank(struct si_job *j, const struct smartint_wake *w)
{
	struct si_file *f = NULL;

	rcu_read_lock();
	if (w->rank < SMARTINT_MAX_RANKS)
		f = xa_load(&j->table, w->rank);
	if (f)
		post(f, &j->counters, w->count);
	rcu_read_unlock();
	if (!f)
		atomic64_inc(&j->counters.missed);
	return f;
}

static ssize_t wake_batch(struct si_job *j, const char __user *buffer, size_t bytes)
{
	struct smartint_wake wakes[WAKES_AT_ONCE];
	size_t done = 0;

	while (done < bytes) {
		size_t part = min(bytes - done, sizeof(wakes));
		size_t i;

		if (copy_from_user(wakes, buffer + done, part))
			return done ? done : -EFAULT;
		for (i = 0; i < part / sizeof(wakes[0]); ++i, done += sizeof(wakes[0])) {
			if (!wake_rank(j, &wakes[i]))
				return done ? done : -ESRCH;
		}
		if (done < bytes && signal_pending(current))
			break;	/* some have been woken: no restart */
		cond_resched();
	}
	return done;
}

static ssize_t si_write(struct file *file, const char __user *buffer, size_t bytes, loff_t *unused)
{
	struct si_file *f = file->private_data;
	struct si_job *j = registered(f);
	u64 count;

	if (!j)
		return -ENOTCONN;
	if (!same_user(f))
		return -EPERM;
	if (f->role == SMARTINT_ROLE_WAKER) {
		if (!bytes || bytes % sizeof(struct smartint_wake))
			return -EINVAL;
		return wake_batch(j, buffer, bytes);
	}
	if (bytes != sizeof(count))
		return -EINVAL;
	if (copy_from_user(&count, buffer, sizeof(count)))
		return -EFAULT;
	if (count == U64_MAX)
		return -EINVAL;
	post(f, &j->counters, count);
	return sizeof(count);
}

static __poll_t si_poll(struct file *file, poll_table *table)
{
	struct si_file *f = file->private_data;
	struct si_job *j = registered(f);
	__poll_t mask;

	poll_wait(file, &f->wait, table);	/* also of one that is registered later */
	if (!j || !same_user(f))
		return EPOLLERR;
	mask = EPOLLOUT | EPOLLWRNORM;
	if (f->role == SMARTINT_ROLE_RANK && READ_ONCE(f->count))
		mask |= EPOLLIN | EPOLLRDNORM;
	return mask;
}

static long si_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct si_file *f = file->private_data;
	void __user *user = (void __user *)argument;
	struct smartint_registration r;
	long error;
	static const struct smartint_version version = {
		.version = SMARTINT_UAPI_VERSION,
		.max_ranks = SMARTINT_MAX_RANKS,
	};

	switch (command) {
	case SMARTINT_IOC_VERSION:
		return copy_to_user(user, &version, sizeof(version)) ? -EFAULT : 0;
	case SMARTINT_IOC_REGISTER:
		if (!same_user(f))
			return -EPERM;
		if (copy_from_user(&r, user, sizeof(r)))
			return -EFAULT;
		error = si_file_register(f, &r);
		memzero_explicit(r.secret, sizeof(r.secret));
		return error;
	default:
		return -ENOTTY;
	}
}

static int si_open(struct inode *inode, struct file *file)
{
	struct si_file *f = si_file_create(current_euid());

	if (IS_ERR(f))
		return PTR_ERR(f);
	file->private_data = f;
	return stream_open(inode, file);
}

static int si_release(struct inode *inode, struct file *file)
{
	si_file_destroy(file->private_data);
	return 0;
}

static const struct file_operations si_operations = {
	.owner = THIS_MODULE,	/* the module stays while a file is open */
	.open = si_open,
	.release = si_release,
	.read = si_read,
	.write = si_write,
	.poll = si_poll,
	.unlocked_ioctl = si_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static struct miscdevice si_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "smartint",
	.fops = &si_operations,
	.mode = 0666,	/* users are kept apart inside */
};

static int __init si_init(void)
{
	int error = si_proc_create();

	if (error)
		return error;
	error = misc_register(&si_device);
	if (error)
		si_proc_remove();
	return error;
}

static void __exit si_exit(void)
{
	misc_deregister(&si_device);
	si_proc_remove();
}

module_init(si_init);
module_exit(si_exit);

MODULE_AUTHOR("The smartint authors");
MODULE_DESCRIPTION("Sleeping and waking of MPI ranks' interrupt threads");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
