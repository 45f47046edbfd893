// SPDX-License-Identifier: GPL-2.0
/*
 * SPDX-FileCopyrightText: 2026 The smartint authors
 *
 * /proc/smartint: a line of counters per job. A user sees jobs of the same uid, an administrator all.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/user_namespace.h>

#include "smartint.h"

static void show_job(struct seq_file *m, const struct si_owner *o, const struct si_job *j)
{
	seq_printf(m, "%u %u %u %u %lld %lld %lld %lld %lld\n",
		   from_kuid_munged(seq_user_ns(m), o->uid), j->number, j->ranks, j->wakers,
		   atomic64_read(&j->counters.waits), atomic64_read(&j->counters.wakes),
		   atomic64_read(&j->counters.merged), atomic64_read(&j->counters.spurious),
		   atomic64_read(&j->counters.missed));
}

static int show(struct seq_file *m, void *unused)
{
	const bool administrator = file_ns_capable(m->file, &init_user_ns, CAP_SYS_ADMIN);
	const kuid_t reader = m->file->f_cred->euid;
	const struct si_owner *o;
	const struct si_job *j;

	seq_puts(m, "uid job ranks wakers waits wakes merged spurious missed\n");
	mutex_lock(&si_lock);
	list_for_each_entry(o, &si_owners, link) {
		if (!administrator && !uid_eq(reader, o->uid))
			continue;
		list_for_each_entry(j, &o->jobs, link) {
			if (seq_has_overflowed(m))
				goto out;	/* called again, with more room */
			show_job(m, o, j);
		}
	}
out:
	mutex_unlock(&si_lock);
	return 0;
}

int si_proc_create(void)
{
	return proc_create_single("smartint", 0444, NULL, show) ? 0 : -ENOMEM;
}

void si_proc_remove(void)
{
	remove_proc_entry("smartint", NULL);
}
