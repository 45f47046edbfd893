// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What the processes of a node have in common: who they are, their board, their helpers.
#include "common_smartint_mca_node.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

extern "C" {
#include "opal/constants.h"
#include "opal/mca/pmix/pmix.h"
}

#include "common_smartint_clock.h"
#include "common_smartint_helper_client.h"
#include "common_smartint_log.h"

namespace smartint {
namespace {

// For a helper that hangs; one that ends is seen at once. To open a transport takes up to a second
// on a slow processor, and a busy machine stands still for seconds.
constexpr unsigned helper_wait_ms = 20000;

// What kept a helper from starting (no memory, no room for a process) may pass.
constexpr std::uint64_t restart_pause_us = 1000000;

struct node_state {
    helper_client helpers;
    unsigned restarts = 0;           // left
    std::uint64_t not_before_us = 0; // the next of them, after one that failed
    bool relays = false;             // there were other nodes when they were started
};

node_state &state() {
    static auto *s = new node_state;
    return *s;
}

std::uint64_t fold(std::uint64_t h, const char *text, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
        h = (h ^ static_cast<std::uint8_t>(text[i])) * 0x100000001b3ULL;
    }
    return h;
}

std::string helper_program(const params &p) {
    return p.helper_path.empty() ? own_directory() + "/smartintd" : p.helper_path;
}

// True: the helper runs, and without its network; told once for each that takes another's place.
bool tell_of_deaf_helper() {
    static std::uint32_t told = 0; // its pid
    const segment &board = engine::instance().board_segment();
    if (!state().relays || !board.mapped()) {
        return false;
    }
    const std::uint32_t pid = board.helper(0).pid.load(std::memory_order_relaxed); // only spares the next lines
    const std::string why = pid == told ? std::string() : helper_client::network_problem(board);
    if (!why.empty()) {
        const params &p = engine::instance().settings();
        told = pid;
        tell(topic::helper_network, (p.transport + "/" + p.device).c_str(), why.c_str());
    }
    return !why.empty();
}

// Open MPI's daemon removes the file when the job ends, however that is. Told before there is a file of ours it would
// remove a stranger's.
void end_with_job(const char *path) {
    if (nullptr != opal_pmix.register_cleanup) {
        opal_pmix.register_cleanup(const_cast<char *>(path), false, false, true);
    }
}

// 0 or an errno. The lock goes with a process that is killed.
int lock(int fd) {
    int rc = 0;
    do {
        rc = flock(fd, LOCK_EX);
    } while (0 != rc && EINTR == errno);
    return 0 == rc ? 0 : errno;
}

// A file of this user's, or a new one, locked; -1 with errno.
int open_own(const std::string &path) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return -1;
    }
    struct ::stat st {}; // stat is a counter here
    // One name: a second one may be somebody's who would have it overwritten.
    const bool own = 0 == fstat(fd, &st) && S_ISREG(st.st_mode) && geteuid() == st.st_uid && 1 == st.st_nlink &&
                     0 == fchmod(fd, 0600);
    if (const int error = own ? lock(fd) : EPERM; 0 != error) {
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

// There are no more of them than processes elsewhere, and at least a place for one.
std::uint32_t other_nodes(const job_shape &j) {
    return j.size < j.local ? layout::max_nodes : std::clamp<std::uint32_t>(j.size - j.local, 1, layout::max_nodes);
}

// Not a process by itself: it has nobody to notify, and jobs that it meets use no notices.
bool wants_board(const params &p, const job_shape &j) {
    return 1 != j.size && (0 != p.shared_memory || "none" != p.progress);
}

} // namespace

std::string own_directory() {
    Dl_info info{};
    if (0 == dladdr(reinterpret_cast<void *>(&own_directory), &info) || nullptr == info.dli_fname) {
        return ".";
    }
    const std::string path(info.dli_fname);
    const auto slash = path.rfind('/');
    return std::string::npos == slash ? "." : path.substr(0, slash);
}

const char *host() { return nullptr == opal_process_info.nodename ? "unknown" : opal_process_info.nodename; }

job_shape learn_job() {
    job_shape j;
    opal_process_name_t job{};
    job.jobid = OPAL_PROC_MY_NAME.jobid;
    job.vpid = OPAL_VPID_WILDCARD;
    int rc = OPAL_SUCCESS;
    std::uint32_t value = 0;
    std::uint32_t *number = &value;
    OPAL_MODEX_RECV_VALUE_OPTIONAL(rc, OPAL_PMIX_JOB_SIZE, &job, &number, OPAL_UINT32);
    if (OPAL_SUCCESS == rc) {
        j.size = value;
    }
    j.leader = OPAL_PROC_MY_NAME.vpid;
    char *peers = nullptr;
    OPAL_MODEX_RECV_VALUE_OPTIONAL(rc, OPAL_PMIX_LOCAL_PEERS, &job, &peers, OPAL_STRING);
    if (OPAL_SUCCESS == rc && nullptr != peers) {
        // ranks of this node, in order: the slot is the position
        std::uint32_t position = 0;
        std::uint32_t first = j.leader;
        bool named = false;
        for (char *save = nullptr, *t = strtok_r(peers, ",", &save); nullptr != t;
             t = strtok_r(nullptr, ",", &save), ++position) {
            const auto vpid = static_cast<std::uint32_t>(std::strtoul(t, nullptr, 10));
            if (0 == position) {
                first = vpid;
            }
            if (vpid == OPAL_PROC_MY_NAME.vpid) {
                named = true;
                j.slot = position;
            }
        }
        if (named) { // where two daemons share a host the list may be of the other one's ranks: alone then
            j.leader = first;
            j.local = position;
        }
        free(peers);
    }
    return j;
}

std::uint64_t node_identity(std::uint32_t leader, const std::string &directory) {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    h = fold(h, reinterpret_cast<const char *>(&leader), sizeof(leader));
    if (struct ::stat st{}; 0 == ::stat(directory.c_str(), &st)) {
        const std::uint64_t file[] = {st.st_dev, st.st_ino};
        h = fold(h, reinterpret_cast<const char *>(file), sizeof(file));
    }
    char boot[64];
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        const ssize_t n = read(fd, boot, sizeof(boot));
        close(fd);
        if (n > 0) {
            h = fold(h, boot, static_cast<std::size_t>(n));
        }
    }
    return std::max<std::uint64_t>(h, 1); // 0: no node
}

void tell_of_failed_helpers() {
    const segment &board = engine::instance().board_segment();
    if (board.mapped() && state().helpers.any_failed(board)) {
        state().not_before_us = now_us() + restart_pause_us;
        tell(topic::no_helper, helper_program(engine::instance().settings()).c_str(), "it could not start");
    }
}

void look_after_helpers() {
    node_state &s = state();
    tell_of_failed_helpers();
    tell_of_deaf_helper();
    engine &e = engine::instance();
    const params &p = e.settings();
    for (unsigned i = 0; 0 != s.restarts && i < p.helpers; ++i) {
        if (!e.helper_gone(i) || now_us() < s.not_before_us) {
            continue;
        }
        --s.restarts;
        const std::string program = helper_program(p);
        const int error = s.helpers.start(e.board_segment(), p, i, program, s.relays, true);
        if (0 == error) {
            e.counters().add(stat::helper_restarts);
        } else {
            s.not_before_us = now_us() + restart_pause_us;
            tell(topic::no_helper, program.c_str(), std::strerror(error));
        }
    }
}

// The helper leaves out of its list what the job may not use, and has nobody to tell when nothing is left.
void tell_of_unusable_cores(const std::string &list) {
    std::vector<unsigned> units;
    cpu_set_t mine;
    if (list.empty() || !parse_cpu_list(list, &units) || 0 != sched_getaffinity(0, sizeof(mine), &mine)) {
        return;
    }
    const bool usable = std::any_of(units.begin(), units.end(), [](unsigned u) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(u, &one);
        return 0 == sched_setaffinity(0, sizeof(one), &one);
    });
    sched_setaffinity(0, sizeof(mine), &mine);
    if (!usable) {
        tell(topic::bad_parameter, ("smartint_helper_cores = " + list).c_str(),
             "the kernel refused all of them, and the helper is bound to none; name units this job may use");
    }
}

void lead(const params &p, const job_shape &j, modex *mine) {
    engine &e = engine::instance();
    if (!wants_board(p, j) ||
        0 != e.create_board(j.local, opal_process_info.job_session_dir, end_with_job, other_nodes(j))) {
        return;
    }
    segment &board = e.board_segment();
    mine->board = board.ticket();
    // For the btl alone there is no interrupt thread to wake.
    if ("helper" != p.progress || !glue_overlaps()) {
        board.close_fd();
        return;
    }
    if (p.helpers > 0) {
        tell_of_unusable_cores(p.helper_cores);
    }
    const std::string program = helper_program(p);
    state().relays = e.net().is_open();
    for (unsigned i = 0; i < p.helpers; ++i) {
        if (int error = state().helpers.start(board, p, i, program, state().relays); 0 != error) {
            tell(topic::no_helper, program.c_str(), std::strerror(error));
            break;
        }
    }
    if (state().relays && p.helpers > 0) {
        bool late = false;
        const auto address = state().helpers.address(board, helper_wait_ms, &late);
        if (address.empty() && !tell_of_deaf_helper()) {
            const std::string after = "it was not ready after " + std::to_string(helper_wait_ms / 1000) + " s";
            tell(topic::no_helper, program.c_str(), late ? after.c_str() : "it could not start");
        }
        mine->helper_bytes = static_cast<std::uint32_t>(address.size());
        std::copy_n(reinterpret_cast<const std::uint8_t *>(address.data()), address.size(), mine->helper);
    }
    look_after_helpers();
    if (0 == p.helper_restart) {
        board.close_fd(); // else for those to come
    }
    state().restarts = p.helper_restart;
}

void meet(const params &p, const job_shape &j, modex *mine) {
    if (1 == j.local || !wants_board(p, j)) { // nobody to meet, or no reason
        lead(p, j, mine);
        return;
    }
    const char *session = opal_process_info.job_session_dir;
    const std::string path = std::string(nullptr == session ? p.directory.c_str() : session) + "/smartint-" +
                             std::to_string(geteuid()) + "-" + std::to_string(OPAL_PROC_MY_NAME.jobid) + "-" +
                             std::to_string(j.leader) + "-met";
    const int fd = open_own(path);
    if (fd < 0) {
        tell(topic::no_segment, path.c_str(), std::strerror(errno));
        return;
    }
    std::uint8_t text[sizeof(modex) + 1];
    const ssize_t bytes = pread(fd, text, sizeof(text), 0);
    modex first;
    const bool met = bytes > 0 && first.read(text, static_cast<std::size_t>(bytes)) && first.node == mine->node;
    if (met && (0 == first.board.slots || 0 == engine::instance().open_board(first.board))) {
        mine->board = first.board; // or none: it could not be made
        mine->helper_bytes = first.helper_bytes;
        std::copy_n(first.helper, first.helper_bytes, mine->helper);
    } else { // nobody was here, or not to the end, or what there was is gone
        end_with_job(path.c_str());
        lead(p, j, mine);
        const auto length = static_cast<ssize_t>(mine->published_bytes());
        if (0 != ftruncate(fd, 0) || length != pwrite(fd, mine, static_cast<std::size_t>(length), 0)) {
            tell(topic::no_segment, path.c_str(), std::strerror(errno)); // the next one makes a board of its own
        }
    }
    flock(fd, LOCK_UN); // a child that was forked meanwhile has the descriptor too
    close(fd);
}

} // namespace smartint
