// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_helper_client.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

extern char **environ;

namespace smartint {
namespace {

struct launch {
    const char *program;
    char *const *argv;
    char *const *envp;
    int board_fd;
    int error; // written by the child, which shares our memory
};

// Runs in the child on our memory (vfork semantics): only system calls.
int child(void *arg) {
    auto *l = static_cast<launch *>(arg);
    setsid(); // the launcher kills the ranks' process groups at the end of the job
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    // Whoever holds the job's stdout keeps mpirun waiting. The board's descriptor first goes
    // where the others cannot overwrite it.
    const int board = fcntl(l->board_fd, F_DUPFD, helper_board_fd + 1);
    const int null = open("/dev/null", O_RDWR);
    if (board < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
        dup2(board, helper_board_fd) < 0) {
        l->error = errno;
        _exit(127);
    }
    syscall(SYS_close_range, helper_board_fd + 1, ~0U, 0);
    execve(l->program, l->argv, l->envp);
    l->error = errno;
    _exit(127);
}

} // namespace

int helper_client::start(const segment &board, const params &p, unsigned index,
                         const std::string &program, std::uint64_t moved_node) {
    if (0 != access(program.c_str(), X_OK)) {
        return errno;
    }
    const std::string args[] = {program,
                                "--index=" + std::to_string(index),
                                "--launcher=" + std::to_string(getppid()),
                                "--poll-us=" + std::to_string(p.helper_poll_us),
                                "--turn-us=" + std::to_string(p.turn_us),
                                "--cores=" + p.helper_cores,
                                "--wake=" + p.wake,
                                "--moved-node=" + std::to_string(moved_node),
                                "--transport=" + p.transport,
                                "--device=" + p.device,
                                "--board=" + std::string(board.ticket().directory) + "/" +
                                    board.ticket().name};
    std::vector<char *> argv;
    for (const auto &a : args) {
        argv.push_back(const_cast<char *>(a.c_str()));
    }
    argv.push_back(nullptr);
    board.helper(index).state.store(layout::helper_starting, std::memory_order_release);
    constexpr std::size_t stack_bytes = 256 * 1024;
    const auto stack = std::make_unique<std::byte[]>(stack_bytes);
    launch l{program.c_str(), argv.data(), environ, board.fd(), 0};
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); // no handler of the application runs in the child
    // No exit signal: the application's SIGCHLD and wait() never hear of it.
    const int pid = clone(child, stack.get() + stack_bytes, CLONE_VM | CLONE_VFORK, &l);
    const int error = pid < 0 ? errno : l.error;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (pid > 0) {
        children_.push_back(pid);
    }
    if (0 != error) {
        board.helper(index).state.store(layout::helper_absent, std::memory_order_release);
        reap();
    }
    return error;
}

std::vector<std::byte> helper_client::address(const segment &board, unsigned milliseconds, bool *late) {
    const auto &h = board.helper(0);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    for (;;) {
        const std::uint32_t state = h.state.load(std::memory_order_acquire); // H3, pairs with H4
        if (layout::helper_sleeping == state || layout::helper_polling == state) {
            const std::uint32_t bytes = std::min(h.address_bytes, layout::node_address_bytes);
            const auto *a = reinterpret_cast<const std::byte *>(h.address);
            return {a, a + bytes};
        }
        if (layout::helper_starting != state || reap()) {
            return {};
        }
        if (std::chrono::steady_clock::now() >= end) {
            *late = true;
            return {};
        }
        const timespec t{0, 1000000};
        nanosleep(&t, nullptr);
    }
}

bool helper_client::reap() {
    bool failed = false;
    for (std::size_t i = 0; i < children_.size();) {
        int status = 0;
        const int rc = waitpid(children_[i], &status, __WALL | WNOHANG);
        if (0 != rc && (children_[i] == rc || ECHILD == errno)) {
            failed = failed || (rc > 0 && 0 != status);
            children_[i] = children_.back();
            children_.pop_back();
        } else {
            ++i;
        }
    }
    return failed;
}

} // namespace smartint
