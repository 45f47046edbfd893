// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Between Open MPI and the engine: counters and messages, and what begins and ends in a process. Of the engine only
// the files common_smartint_mca* know Open MPI.
#include "common_smartint_mca.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

extern "C" {
#include "opal/constants.h"
#include "opal/mca/base/mca_base_pvar.h"
#include "opal/runtime/opal.h"
#include "opal/util/output.h"
#include "opal/util/proc.h"
#include "opal/util/show_help.h"
}

#include "common_smartint_log.h"
#include "common_smartint_mca_node.h"
#include "common_smartint_mca_params.h"

namespace smartint {
namespace {

constexpr const char *help_file = "help-common-smartint.txt";

struct glue_state {
    bool started = false;
    bool late = false;
    job_shape shape;
    modex mine;
};

glue_state &state() {
    static auto *s = new glue_state;
    return *s;
}

std::string value_of(const report &r) {
    return 0 == r.process ? r.value : r.value + std::string(", on ") + glue_host_of(r.process);
}

// Of the processes of a job on this node the first to have this to say, about this peer or parameter: whoever makes a
// file for it in the job's session directory, which Open MPI removes.
enum class teller : std::uint8_t { this_one, another, unknown };

teller who_tells(const report &r) {
    const char *session = opal_process_info.job_session_dir;
    if (nullptr == session) {
        return teller::unknown;
    }
    std::string path = std::string(session) + "/smartint-told-" + topic_name(r.what);
    if (topic::lost_peer == r.what || topic::bad_parameter == r.what) {
        path += '-' + std::to_string(std::hash<std::string>()(value_of(r)));
    }
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return EEXIST == errno ? teller::another : teller::unknown;
    }
    close(fd);
    return teller::this_one;
}

// On one node who has something to say says it; of several nodes Open MPI's mpirun collects it.
bool one_node(const job_shape &j) { return 0 != j.size && j.size == j.local; }

void show_here(const report &r) {
    glue_say_here(opal_show_help_string(help_file, topic_name(r.what), 1, host(), value_of(r).c_str(), r.detail));
}

void show(const report &r) {
    switch (one_node(state().shape) ? who_tells(r) : teller::unknown) {
    case teller::this_one:
        return show_here(r);
    case teller::another:
        return;
    case teller::unknown:
        opal_show_help(help_file, topic_name(r.what), true, host(), value_of(r).c_str(), r.detail);
    }
}

int read_counter(const mca_base_pvar_t *pvar, void *value, void *) noexcept {
    const auto index = reinterpret_cast<std::uintptr_t>(pvar->ctx);
    *static_cast<unsigned long long *>(value) = engine::instance().counters().get(static_cast<stat>(index));
    return OPAL_SUCCESS;
}

void register_counters() {
    for (unsigned i = 0; i < static_cast<unsigned>(stat::count_); ++i) {
        const auto s = static_cast<stat>(i);
        mca_base_pvar_register(
            "opal", "smartint", nullptr, stat_name(s), stat_help(s), OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_COUNTER,
            MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, nullptr, MCA_BASE_VAR_BIND_NO_OBJECT,
            static_cast<mca_base_pvar_flag_t>(MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS),
            boundary(read_counter), nullptr, nullptr, reinterpret_cast<void *>(static_cast<std::uintptr_t>(i)));
    }
}

// What is wrong has been told. Where the user named the pml, or osc, the process ends here: what
// Open MPI would add, that no component can be opened, misleads.
int give_up(int error) {
    if (glue_overlaps()) {
        glue_end_in_turn();
    }
    flush_reports();
    return error;
}

int start_engine(const params &p, const job_shape &j, bool threads) {
    glue_state &s = state();
    engine_identity me;
    me.name = pack_name(OPAL_PROC_MY_NAME.jobid, OPAL_PROC_MY_NAME.vpid);
    me.slot = j.slot;
    me.threads = threads;
    me.job_size = j.size;
    me.node = node_identity(j.leader, p.directory);
    const bool network = j.size > j.local || "always" == p.network || 0 == p.shared_memory;
    if (const std::uint32_t peers = 0 == p.shared_memory ? j.size : j.size - std::min(j.size, j.local); network) {
        glue_expect_peers(peers);
    }
    engine &e = engine::instance();
    if (0 != e.start(p, me, network)) {
        return OPAL_ERR_NOT_AVAILABLE;
    }
    s.mine = modex{};
    s.mine.slot = j.slot;
    s.mine.leader = j.leader;
    s.mine.node = me.node;
    glue_note_address();
    e.hooks().chores = look_after_helpers;
    e.hooks().introduce = glue_introduce;
    if (nullptr == e.hooks().fatal) { // the pml's ends the job by Open MPI's own means
        e.hooks().fatal = [](const char *what) {
            if (0 != *what) { // else it was told
                opal_output(0, "smartint: %s", what);
            }
            glue_end();
        };
    }
    s.started = true;
    return OPAL_SUCCESS;
}

} // namespace

int glue_register() {
    // MCA compares names and the MCA version only. Another branch has other structs.
    const std::string built = std::to_string(SMARTINT_OMPI_MAJOR) + "." + std::to_string(SMARTINT_OMPI_MINOR) + ".";
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
    // Open MPI forgets both where a tool has ended MPI_T before MPI_Init.
    const bool forgotten = mca_base_var_find("opal", "smartint", nullptr, "progress") < 0;
    register_params();
    if (forgotten) {
        opal_show_help_add_dir(own_directory().c_str());
    }
    set_reporter(show);
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
        index = mca_base_var_register("ompi", framework, nullptr, nullptr, "selection", MCA_BASE_VAR_TYPE_STRING,
                                      nullptr, 0, static_cast<mca_base_var_flag_t>(0), OPAL_INFO_LVL_9,
                                      MCA_BASE_VAR_SCOPE_READONLY, &early);
    }
    char **value = nullptr;
    bool named = false;
    if (index >= 0 && OPAL_SUCCESS == mca_base_var_get_value(index, &value, nullptr, nullptr) && nullptr != value &&
        nullptr != *value && '^' != **value) {
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

void glue_expect_peers(std::size_t more) {
    constexpr rlim_t by_peer = 4, others = 512; // the application's, Open MPI's, those of woken ranks
    static rlim_t peers = 0;
    peers += more;
    rlimit now{};
    const rlim_t wanted = others + by_peer * peers;
    if (0 == getrlimit(RLIMIT_NOFILE, &now) && now.rlim_cur < wanted && now.rlim_cur < now.rlim_max) {
        now.rlim_cur = std::min(wanted, now.rlim_max);
        setrlimit(RLIMIT_NOFILE, &now); // refused: as before
    }
}

int glue_start(bool enable_threads) {
    if (state().started) {
        return OPAL_SUCCESS;
    }
    const job_shape j = learn_job();
    state().shape = j;
    if (const int rc = glue_check_params(); OPAL_SUCCESS != rc) {
        return give_up(rc);
    }
    const params p = current_params();
    if (const int rc = start_engine(p, j, enable_threads); OPAL_SUCCESS != rc) {
        return give_up(rc);
    }
    if (j.leader == OPAL_PROC_MY_NAME.vpid) {
        lead(p, j, &state().mine);
    }
    flush_reports();
    return OPAL_SUCCESS;
}

int glue_start_late(bool enable_threads) {
    static bool tried = false; // and failed: it would again
    if (state().started || tried) {
        return state().started ? OPAL_SUCCESS : OPAL_ERR_NOT_AVAILABLE;
    }
    tried = true;
    const params p = current_params();
    const job_shape j = learn_job();
    state().shape = j;
    const int rc = start_engine(p, j, enable_threads);
    if (OPAL_SUCCESS == rc) {
        state().late = true;
        state().mine.leader = OPAL_PROC_MY_NAME.vpid; // who hears of this process hears it all from itself
        meet(p, j, &state().mine);
        engine &e = engine::instance();
        if (j.local > 1 && !e.board_segment().mapped() && 0 == e.open_network()) {
            glue_expect_peers(j.local);
            glue_note_address(); // the only way to the others of this node
        }
    }
    flush_reports();
    return rc;
}

bool glue_started_late() { return state().late; }

int glue_check_params() {
    std::string name;
    std::string value;
    std::string remedy;
    if (check_given_params(&name, &value, &remedy)) {
        return OPAL_SUCCESS;
    }
    tell(topic::bad_parameter, ("smartint_" + name + " = " + value).c_str(), remedy.c_str());
    return OPAL_ERR_BAD_PARAM;
}

void glue_note_address() {
    modex &mine = state().mine;
    const auto &address = engine::instance().net().address();
    static_assert(sizeof(mine.address) == wire::max_network_address); // a longer one is none, see network::open
    mine.address_bytes = static_cast<std::uint32_t>(address.size());
    std::copy_n(reinterpret_cast<const std::uint8_t *>(address.data()), mine.address_bytes, mine.address);
}

void glue_stop() {
    glue_state &s = state();
    if (s.started) {
        tell_of_failed_helpers(); // stop() prints it
        engine::instance().stop();
        s.started = false;
    }
}

void glue_say_here(char *text) {
    if (nullptr != text) {
        std::fputs(text, stderr);
        std::free(text);
    }
}

void glue_end_in_turn() {
    constexpr unsigned first_us = 5000000, each_us = 20000, most = 100;
    if (const unsigned rank = OPAL_PROC_MY_NAME.vpid; 0 != rank) {
        usleep(first_us + each_us * std::min(rank, most));
    }
    glue_end();
}

void glue_end() {
    set_reporter(show_here);
    flush_reports();
    usleep(500000); // what was told before leaves by a thread of the run-time's own, which may be off its core
    _exit(1);
}

void glue_start_thread() {
    engine::instance().start_thread();
    flush_reports();
}

const modex &glue_modex() { return state().mine; }

} // namespace smartint
