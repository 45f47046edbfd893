// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Between Open MPI and the engine: parameters and counters, and what begins and ends in a process. Of the engine only
// the files common_smartint_mca* know Open MPI.
#include "common_smartint_mca.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

extern "C" {
#include "opal/constants.h"
#include "opal/mca/base/mca_base_pvar.h"
#include "opal/mca/pmix/pmix.h"
#include "opal/runtime/opal.h"
#include "opal/util/output.h"
#include "opal/util/show_help.h"
}

#include "common_smartint_helper_client.h"
#include "common_smartint_log.h"

namespace smartint {
namespace {

constexpr const char *help_file = "help-common-smartint.txt";
// For a helper that hangs; one that ends is seen at once. To open a transport takes up to a second
// on a slow processor, and a busy machine stands still for seconds.
constexpr unsigned helper_wait_ms = 20000;

struct variables {
#define SMARTINT_STRING(name, def, level, help) const char *name = def;
#define SMARTINT_NUMBER(name, def, lowest, highest, level, help) unsigned name = def;
#include "common_smartint_params.def"
#undef SMARTINT_STRING
#undef SMARTINT_NUMBER
};

struct glue_state {
    variables values;
    std::vector<int> indices;
    std::vector<const char *> names;
    bool registered = false;
    bool started = false;
    modex mine;
    helper_client helpers;
    unsigned restarts = 0; // of helpers, left
    bool relays = false;   // helpers: there were other nodes when they were started
};

glue_state &state() {
    static auto *s = new glue_state;
    return *s;
}

// Where this library lies: helper program and help files are beside it.
std::string own_directory() {
    Dl_info info{};
    if (0 == dladdr(reinterpret_cast<void *>(&own_directory), &info) ||
        nullptr == info.dli_fname) {
        return ".";
    }
    const std::string path(info.dli_fname);
    const auto slash = path.rfind('/');
    return std::string::npos == slash ? "." : path.substr(0, slash);
}

const char *host() {
    return nullptr == opal_process_info.nodename ? "unknown" : opal_process_info.nodename;
}

void show(const report &r) {
    opal_show_help(help_file, topic_name(r.what), true, host(), r.value, r.detail);
}

int read_counter(const mca_base_pvar_t *pvar, void *value, void *) noexcept {
    const auto index = reinterpret_cast<std::uintptr_t>(pvar->ctx);
    *static_cast<unsigned long long *>(value) =
        engine::instance().counters().get(static_cast<stat>(index));
    return OPAL_SUCCESS;
}

void register_counters() {
    for (unsigned i = 0; i < static_cast<unsigned>(stat::count_); ++i) {
        const auto s = static_cast<stat>(i);
        mca_base_pvar_register("opal", "smartint", nullptr, stat_name(s), stat_help(s),
                               OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_COUNTER,
                               MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, nullptr,
                               MCA_BASE_VAR_BIND_NO_OBJECT,
                               static_cast<mca_base_pvar_flag_t>(MCA_BASE_PVAR_FLAG_READONLY |
                                                                 MCA_BASE_PVAR_FLAG_CONTINUOUS),
                               boundary(read_counter), nullptr, nullptr,
                               reinterpret_cast<void *>(static_cast<std::uintptr_t>(i)));
    }
}

void register_variable(const char *name, const char *help, mca_base_var_type_t type, int level,
                       void *storage) {
    const int index = mca_base_var_register("opal", "smartint", nullptr, name, help, type, nullptr,
                                            0, static_cast<mca_base_var_flag_t>(0),
                                            static_cast<mca_base_var_info_lvl_t>(level - 1),
                                            MCA_BASE_VAR_SCOPE_LOCAL, storage);
    state().indices.push_back(index);
    state().names.push_back(name);
}

params current_params() {
    params p;
    const variables &v = state().values;
#define SMARTINT_STRING(name, def, level, help) p.name = nullptr == v.name ? "" : v.name;
#define SMARTINT_NUMBER(name, def, lowest, highest, level, help) p.name = v.name;
#include "common_smartint_params.def"
#undef SMARTINT_STRING
#undef SMARTINT_NUMBER
    return p;
}

std::uint64_t fold(std::uint64_t h, const char *text, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
        h = (h ^ static_cast<std::uint8_t>(text[i])) * 0x100000001b3ULL;
    }
    return h;
}

// Two processes of a job with the same value share memory: host name, boot, and the first of those whom one of Open
// MPI's daemons started. Where one host has two daemons, their ranks count their places on the node apart, and each
// has a board of its own: two nodes.
std::uint64_t node_identity(std::uint32_t leader) {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    h = fold(h, host(), std::strlen(host()));
    h = fold(h, reinterpret_cast<const char *>(&leader), sizeof(leader));
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

struct job_shape {
    std::uint32_t size = 1;   // processes of the job
    std::uint32_t local = 1;  // of them on this node
    std::uint32_t slot = 0;   // this one's place among those
    std::uint32_t leader = 0; // process number of the first of those
};

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

// What is wrong has been told. Where the user named the pml, or osc, the process ends here: what
// Open MPI would add, that no component can be opened, misleads.
int give_up(int error) {
    flush_reports();
    if (glue_overlaps()) {
        glue_end();
    }
    return error;
}

std::string helper_program(const params &p) {
    return p.helper_path.empty() ? own_directory() + "/smartintd" : p.helper_path;
}

void tell_of_failed_helpers() {
    const segment &board = engine::instance().board_segment();
    if (board.mapped() && state().helpers.any_failed(board)) {
        tell(topic::no_helper, helper_program(engine::instance().settings()).c_str(), "it could not start");
    }
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

void look_after_helpers() {
    glue_state &s = state();
    tell_of_failed_helpers();
    tell_of_deaf_helper();
    engine &e = engine::instance();
    const params &p = e.settings();
    for (unsigned i = 0; 0 != s.restarts && i < std::min<unsigned>(p.helpers, layout::max_helpers);
         ++i) {
        if (!e.helper_gone(i)) {
            continue;
        }
        --s.restarts;
        const std::string program = helper_program(p);
        const int error = s.helpers.start(e.board_segment(), p, i, program, s.relays);
        if (0 == error) {
            e.counters().add(stat::helper_restarts);
        } else {
            tell(topic::no_helper, program.c_str(), std::strerror(error));
        }
    }
}

// The leader's work: board, then helpers. What fails costs shared memory or overlap.
void lead(const params &p, const job_shape &j) {
    engine &e = engine::instance();
    if (0 == p.shared_memory && "none" == p.progress) {
        return;
    }
    if (0 != e.create_board(j.local, opal_process_info.job_session_dir)) {
        return;
    }
    segment &board = e.board_segment();
    state().mine.board = board.ticket();
    const std::string path = std::string(board.ticket().directory) + "/" + board.ticket().name;
    if (nullptr != opal_pmix.register_cleanup) {
        opal_pmix.register_cleanup(const_cast<char *>(path.c_str()), false, false, true);
    }
    // For the btl alone there is no interrupt thread to wake.
    if ("helper" != p.progress || !glue_overlaps()) {
        board.close_fd();
        return;
    }
    const std::string program = helper_program(p);
    const unsigned count = std::min<unsigned>(p.helpers, layout::max_helpers);
    state().relays = e.net().is_open();
    for (unsigned i = 0; i < count; ++i) {
        if (int error = state().helpers.start(board, p, i, program, state().relays); 0 != error) {
            tell(topic::no_helper, program.c_str(), std::strerror(error));
            break;
        }
    }
    if (state().relays && count > 0) {
        bool late = false;
        const auto address = state().helpers.address(board, helper_wait_ms, &late);
        if (address.empty() && !tell_of_deaf_helper()) {
            const std::string after = "it was not ready after " + std::to_string(helper_wait_ms / 1000) + " s";
            tell(topic::no_helper, program.c_str(), late ? after.c_str() : "it could not start");
        }
        state().mine.helper_bytes = static_cast<std::uint32_t>(address.size());
        std::copy_n(reinterpret_cast<const std::uint8_t *>(address.data()), address.size(),
                    state().mine.helper);
    }
    look_after_helpers();
    if (0 == p.helper_restart) {
        board.close_fd(); // else for those to come
    }
    state().restarts = p.helper_restart;
}

} // namespace

int glue_register(const mca_base_component_t *component) {
    // MCA compares names and the MCA version only. Another branch has other structs.
    const std::string built =
        std::to_string(SMARTINT_OMPI_MAJOR) + "." + std::to_string(SMARTINT_OMPI_MINOR) + ".";
    if (0 != std::strncmp(opal_version_string, built.c_str(), built.size())) {
        static bool told = false; // by the other component
        if (told || !(glue_overlaps() || glue_named("btl"))) {
            return OPAL_ERR_NOT_AVAILABLE;
        }
        told = true;
        opal_show_help_add_dir(own_directory().c_str());
        opal_show_help(help_file, "wrong-branch", true, host(), opal_version_string,
                       built.substr(0, built.size() - 1).c_str());
        return OPAL_ERR_NOT_AVAILABLE;
    }
    glue_state &s = state();
    // The library stays loaded when a component is closed, Open MPI's table of variables does
    // not stay: register again whenever it is asked.
    s.indices.clear();
    s.names.clear();
#define SMARTINT_STRING(name, def, level, help)                                                    \
    register_variable(#name, help, MCA_BASE_VAR_TYPE_STRING, level, &s.values.name);
#define SMARTINT_NUMBER(name, def, lowest, highest, level, help)                                   \
    register_variable(#name, help " (" #lowest " to " #highest ")",                                \
                      MCA_BASE_VAR_TYPE_UNSIGNED_INT, level, &s.values.name);
#include "common_smartint_params.def"
#undef SMARTINT_STRING
#undef SMARTINT_NUMBER
    for (std::size_t i = 0; i < s.indices.size(); ++i) {
        mca_base_var_register_synonym(s.indices[i], component->mca_project_name,
                                      component->mca_type_name, component->mca_component_name,
                                      s.names[i], static_cast<mca_base_var_syn_flag_t>(0));
    }
    if (!s.registered) {
        opal_show_help_add_dir(own_directory().c_str());
        set_reporter(show);
        s.registered = true;
    }
    register_counters();
    return OPAL_SUCCESS;
}

bool glue_named(const char *framework) {
    // BTLs are opened before the PML framework exists: read its selection as it will.
    int index = mca_base_var_find(nullptr, framework, nullptr, nullptr);
    static char *early = nullptr;
    const bool ours = index < 0;
    if (ours) {
        early = nullptr;
        index = mca_base_var_register("ompi", framework, nullptr, nullptr, "selection",
                                      MCA_BASE_VAR_TYPE_STRING, nullptr, 0,
                                      static_cast<mca_base_var_flag_t>(0), OPAL_INFO_LVL_9,
                                      MCA_BASE_VAR_SCOPE_READONLY, &early);
    }
    char **value = nullptr;
    bool named = false;
    if (index >= 0 && OPAL_SUCCESS == mca_base_var_get_value(index, &value, nullptr, nullptr) &&
        nullptr != value && nullptr != *value && '^' != **value) {
        // Of the pml's list Open MPI takes the first and no other.
        const auto at = (std::string(",") + *value + ",").find(",smartint,");
        named = 0 == std::strcmp(framework, "pml") ? 0 == at : std::string::npos != at;
    }
    if (ours && index >= 0) {
        mca_base_var_deregister(index);
    }
    return named;
}

bool glue_overlaps() { return glue_named("pml") || glue_named("osc"); }

int glue_start(bool enable_threads) {
    glue_state &s = state();
    if (s.started) {
        return OPAL_SUCCESS;
    }
    const params p = current_params();
    std::string name;
    std::string value;
    std::string remedy;
    if (!check_params(p, &name, &value, &remedy)) {
        tell(topic::bad_parameter, ("smartint_" + name + " = " + value).c_str(), remedy.c_str());
        return give_up(OPAL_ERR_BAD_PARAM);
    }
    const job_shape j = learn_job();
    engine_identity me;
    me.name = pack_name(OPAL_PROC_MY_NAME.jobid, OPAL_PROC_MY_NAME.vpid);
    me.slot = j.slot;
    me.threads = enable_threads;
    me.node = node_identity(j.leader);
    const bool network = j.size > j.local || "always" == p.network || 0 == p.shared_memory;
    engine &e = engine::instance();
    if (0 != e.start(p, me, network)) {
        return give_up(OPAL_ERR_NOT_AVAILABLE);
    }
    s.mine = modex{};
    s.mine.slot = j.slot;
    s.mine.leader = j.leader;
    s.mine.node = me.node;
    if (j.leader == OPAL_PROC_MY_NAME.vpid) {
        lead(p, j);
    }
    glue_note_address();
    e.hooks().chores = look_after_helpers;
    if (nullptr == e.hooks().fatal) { // the pml's ends the job by Open MPI's own means
        e.hooks().fatal = [](const char *what) {
            if (0 != *what) { // else it was told
                opal_output(0, "smartint: %s", what);
            }
            glue_end();
        };
    }
    s.started = true;
    flush_reports();
    return OPAL_SUCCESS;
}

void glue_note_address() {
    modex &mine = state().mine;
    const auto &address = engine::instance().net().address();
    mine.address_bytes = static_cast<std::uint32_t>(std::min(address.size(), sizeof(mine.address)));
    std::copy_n(reinterpret_cast<const std::uint8_t *>(address.data()), mine.address_bytes,
                mine.address);
}

void glue_stop() {
    glue_state &s = state();
    if (s.started) {
        tell_of_failed_helpers(); // stop() prints it
        engine::instance().stop();
        s.started = false;
    }
}

void glue_end() {
    flush_reports();
    usleep(200000); // the message leaves by a thread of the run-time's own
    _exit(1);
}

void glue_start_thread() {
    engine::instance().start_thread();
    flush_reports();
}

const modex &glue_modex() { return state().mine; }

} // namespace smartint
