// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The calling thread gets no signal from others for as long as this lives: for what a handler of the application must
// not run in or interrupt, and for threads and children, which inherit it. Its own faults stay deliverable: blocked
// they would end the process, where a program that protects its pages against writing expects its handler. Any thread.
#pragma once

#include <csignal>
#include <initializer_list>

namespace smartint {

class signals_blocked {
public:
    signals_blocked() {
        sigset_t all;
        sigfillset(&all);
        for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
            sigdelset(&all, own);
        }
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    signals_blocked(const signals_blocked &) = delete;
    signals_blocked &operator=(const signals_blocked &) = delete;

private:
    sigset_t before_;
};

} // namespace smartint
