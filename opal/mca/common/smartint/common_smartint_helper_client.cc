// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_helper_client.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "common_smartint_nodes.h"
#include "common_smartint_signals.h"

extern char **environ;

namespace smartint {
namespace {

constexpr std::size_t stack_bytes = 256 * 1024; // of each of the two children
constexpr rlim_t most_closed = 65536;           // one by one; where there is no limit that would take minutes

struct launch {
    const char *program;
    char *const *argv;
    char *const *envp;
    int board_fd;
    std::byte *second_stack; // its end
    // written by the children, which share our memory
    int helper;
    int error;
};

// On our memory (vfork semantics), as the next: only system calls.
int execute(void *arg) {
    auto *l = static_cast<launch *>(arg);
    execve(l->program, l->argv, l->envp);
    l->error = errno;
    return 127; // which ends it
}

// A process that executes a program sends its parent SIGCHLD when it ends, whatever it was cloned for. So a child of
// this one executes it, and this one ends with no signal.
int child(void *arg) {
    auto *l = static_cast<launch *>(arg);
    setsid(); // the launcher kills the ranks' process groups at the end of the job
    // The application's handlers would run on its memory; what it ignores is no wish of the helper's.
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    for (int i = 1; i < NSIG; ++i) {
        sigaction(i, &standard, nullptr); // of this process alone
    }
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
        return 127;
    }
    if (0 != syscall(SYS_close_range, helper_board_fd + 1, ~0U, 0)) { // an older kernel, or a container's filter
        rlimit most{};
        getrlimit(RLIMIT_NOFILE, &most);
        for (rlim_t fd = helper_board_fd + 1; fd < std::min(most.rlim_cur, most_closed); ++fd) {
            close(static_cast<int>(fd));
        }
    }
    l->helper = clone(execute, l->second_stack, CLONE_VM | CLONE_VFORK, l);
    if (l->helper < 0) {
        l->error = errno;
    }
    return 0;
}

layout::helper_state after_failure(bool again) { return again ? layout::helper_gone : layout::helper_absent; }

// 0 or an errno; l->helper is the process it left behind.
int start_child(launch *l, std::byte *stack_end) {
    const signals_blocked inherited; // no handler of the application runs in the child
    // No exit signal: the application's SIGCHLD and wait() never hear of it.
    const int pid = clone(child, stack_end, CLONE_VM | CLONE_VFORK, l);
    // A signal that came before setsid(), for the rank's process group, may end the child before it gets there.
    const int error = pid < 0 ? errno : 0 != l->error ? l->error : l->helper <= 0 ? EINTR : 0;
    while (pid > 0 && waitpid(pid, nullptr, __WALL) < 0 && EINTR == errno) { // it has ended
    }
    return error;
}

} // namespace

int helper_client::start(const segment &board, const params &p, unsigned index, const std::string &program, bool relays,
                         bool again) {
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
                                "--transport=" + (relays ? p.transport : "none"),
                                "--device=" + p.device,
                                "--board=" + std::string(board.ticket().directory) + "/" + board.ticket().name};
    std::vector<char *> argv;
    for (const auto &a : args) {
        argv.push_back(const_cast<char *>(a.c_str()));
    }
    argv.push_back(nullptr);
    board.helper(index).state.store(layout::helper_starting, std::memory_order_release);
    const auto stacks = std::make_unique<std::byte[]>(2 * stack_bytes);
    launch l{program.c_str(), argv.data(), environ, board.fd(), stacks.get() + 2 * stack_bytes, -1, 0};
    if (const int error = start_child(&l, stacks.get() + stack_bytes); 0 != error) {
        board.helper(index).state.store(after_failure(again), std::memory_order_release);
        return error;
    }
    starting_.push_back({index, l.helper, static_cast<int>(syscall(SYS_pidfd_open, l.helper, 0)), again});
    return 0;
}

std::vector<std::byte> helper_client::address(const segment &board, unsigned milliseconds, bool *late) {
    const auto &h = board.helper(0);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    for (;;) {
        const std::uint32_t state = h.state.load(std::memory_order_acquire); // H3, pairs with H4
        if (layout::helper_sleeping == state || layout::helper_polling == state) {
            helper_address a;
            return read_address(h.address, &a) ? a.bytes : std::vector<std::byte>();
        }
        if (layout::helper_starting != state) {
            return {};
        }
        failed_ = look_for_failed(board) || failed_; // helper 0 too: then its state says so
        if (std::chrono::steady_clock::now() >= end) {
            *late = true;
            return {};
        }
        const timespec t{0, 1000000};
        nanosleep(&t, nullptr);
    }
}

std::string helper_client::network_problem(const segment &board) {
    const auto &h = board.helper(0);
    const std::uint32_t state = h.state.load(std::memory_order_acquire); // H3, pairs with H4
    // relaxed: ordered by the state. Any process of the node may have written any number.
    const auto error = static_cast<int>(h.network_error.load(std::memory_order_relaxed));
    if (0 == error || (layout::helper_sleeping != state && layout::helper_polling != state)) {
        return {};
    }
    switch (error) { // what network::open() returns
    case ENODEV:
        return "no device of that transport could be opened by the helper";
    case ENOMEM:
        return "UCX could not start in the helper";
    case ELIBBAD:
        return "the helper finds a UCX that this smartint cannot use";
    case EIO:
        return "the transport gave the helper no address";
    default:
        return std::strerror(error);
    }
}

bool helper_client::any_failed(const segment &board) {
    const bool now = look_for_failed(board);
    return std::exchange(failed_, false) || now;
}

// What was executed forks once more, and ends when it knows how that went.
bool helper_client::look_for_failed(const segment &board) {
    bool failed = false;
    for (std::size_t i = 0; i < starting_.size();) {
        const starter &s = starting_[i];
        pollfd p{s.pidfd, POLLIN, 0};
        const bool ended = s.pidfd >= 0 ? 1 == poll(&p, 1, 0) : 0 != kill(s.pid, 0) && ESRCH == errno;
        if (!ended) {
            ++i;
            continue;
        }
        // relaxed: nothing is read behind it
        // Still starting: it ended without a word. Absent: its last word.
        auto &state = board.helper(s.index).state;
        for (std::uint32_t found : {layout::helper_starting, layout::helper_absent}) {
            failed = state.compare_exchange_strong(found, after_failure(s.again), std::memory_order_relaxed) || failed;
        }
        if (s.pidfd >= 0) {
            ::close(s.pidfd);
        }
        starting_[i] = starting_.back();
        starting_.pop_back();
    }
    return failed;
}

helper_client::~helper_client() {
    for (const starter &s : starting_) {
        if (s.pidfd >= 0) {
            ::close(s.pidfd);
        }
    }
}

} // namespace smartint
