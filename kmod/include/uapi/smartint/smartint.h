/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * SPDX-FileCopyrightText: 2026 The smartint authors
 *
 * What the module smartint.ko and programs say to each other through /dev/smartint.
 *
 * An open file is nothing until it is registered, once, as one of:
 *
 * a rank   has a count, 0 at first. read() of 8 bytes sleeps until it is not 0, returns it as a
 *          64-bit number and makes it 0. write() of such a number adds to it. So it is used as
 *          an eventfd is, by whoever holds the descriptor, and by wakers of the same job. But
 *          write() never waits: a count that is full, at 2^64 - 2, stays so.
 * a waker  write() of an array of struct smartint_wake adds to the counts of ranks of the job.
 *          It returns the bytes of those that it did, which may be fewer than were given: it
 *          stops at the first rank that is not there, at a part of the array that can't be read,
 *          and at a signal once some are done. If the first rank is not there, the error is
 *          ESRCH; if the first part can't be read, EFAULT.
 *
 * Both belong to the job (number, secret) of the user who opened the file. Another user, number
 * or secret is another job, and nothing is told about others.
 *
 * poll(), epoll and O_NONBLOCK work; a registered file can always be written. One that is not
 * registered, and another user's, is EPOLLERR; registration wakes who polls.
 *
 * read() and write() fail with ENOTCONN where the file is not registered; they and registration
 * with EPERM where the caller has neither the user's effective id nor is the process that opened
 * the file; with EINVAL where role or size do not fit; and everything that is handed an address
 * with EFAULT where that is bad. Of a count that read() could not hand over nothing is lost.
 *
 * open() fails with EDQUOT where the user has as many files open as the module's parameter
 * max_files allows, and with ENOMEM.
 */
#ifndef _UAPI_SMARTINT_H
#define _UAPI_SMARTINT_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define SMARTINT_DEVICE "/dev/smartint"

/* Changes when the meaning or size of anything below does. */
#define SMARTINT_UAPI_VERSION 1

/* Ranks of a job are numbered from 0 to below this. */
#define SMARTINT_MAX_RANKS 65536

#define SMARTINT_ROLE_RANK 1
#define SMARTINT_ROLE_WAKER 2

struct smartint_version {
	__u32 version;		/* SMARTINT_UAPI_VERSION of the module */
	__u32 max_ranks;
};

struct smartint_registration {
	__u32 version;		/* SMARTINT_UAPI_VERSION of the program */
	__u32 role;
	__u32 job;
	__u32 rank;		/* of a waker: 0 */
	__u64 secret[2];
};

struct smartint_wake {
	__u32 rank;
	__u32 count;		/* 0: only looks whether the rank is there */
};

#define SMARTINT_IOC_MAGIC 0xBC

/* This one stays as it is in every version. */
#define SMARTINT_IOC_VERSION _IOR(SMARTINT_IOC_MAGIC, 1, struct smartint_version)

/*
 * EPROTONOSUPPORT: another version. EINVAL: role, rank. EBUSY: this file is registered.
 * EEXIST: the job has such a rank, and the process that opened its file lives. ENOMEM.
 */
#define SMARTINT_IOC_REGISTER _IOW(SMARTINT_IOC_MAGIC, 2, struct smartint_registration)

#endif
