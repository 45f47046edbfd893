/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SPDX-FileCopyrightText: 2026 The smartint authors
 *
 * What the module's files share.
 *
 * Who keeps whom:
 *   an open file -> its struct si_file -> owner (a user) and, once registered, job
 *   an owner     -> its jobs, which nobody else's registration looks at
 *   a job        -> the si_files of its ranks, in an xarray, until they are released, or another
 *                   takes the number of one whose process is dead; that one counts on
 * Owners and jobs are counted by files and are gone with the last. The lists, the counts and
 * registration are under si_lock. Waking takes no lock but that of the rank's wait queue: a waker
 * finds the rank under RCU, and a released si_file is freed a grace period later.
 */
#ifndef _SMARTINT_H
#define _SMARTINT_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "include/uapi/smartint/smartint.h"

struct si_owner {
	struct list_head link;
	kuid_t uid;
	unsigned int files;	/* at most max_files */
	struct list_head jobs;
};

/* What /proc/smartint shows. */
struct si_counters {
	atomic64_t waits;	/* read() that had to sleep */
	atomic64_t wakes;	/* counts added to, by number or by descriptor */
	atomic64_t merged;	/* of them: while an earlier one was not taken yet */
	atomic64_t spurious;	/* read() of a nonblocking file that found nothing */
	atomic64_t missed;	/* wakes of ranks that are not there */
};

struct si_job {
	struct list_head link;
	u32 number;
	u64 secret[2];
	unsigned int ranks;	/* files, also of those whose number is another's by now */
	unsigned int wakers;
	struct xarray table;	/* rank -> struct si_file */
	struct si_counters counters;
};

struct si_file {
	wait_queue_head_t wait;
	u64 count;		/* under wait.lock */
	struct si_owner *owner;
	struct pid *opener;	/* the process */
	struct si_job *job;	/* set once, with release; role and rank are valid then */
	u32 role;
	u32 rank;
	struct rcu_head rcu;
};

extern struct list_head si_owners;
extern struct mutex si_lock;

struct si_file *si_file_create(kuid_t uid);
int si_file_register(struct si_file *f, const struct smartint_registration *r);
void si_file_destroy(struct si_file *f);

int si_proc_create(void);
void si_proc_remove(void);

#endif
