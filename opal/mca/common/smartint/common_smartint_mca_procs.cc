// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// How a process is reached. What a peer publishes is checked before use.
#include "common_smartint_mca.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <set>

extern "C" {
#include "opal/constants.h"
#include "opal/mca/pmix/pmix.h"
}

namespace smartint {
namespace {

char process_key[] = "smartint.process";
char late_key[] = "smartint.network";    // of the address of a network opened late
constexpr unsigned late_wait_ms = 20000; // processes that connect are in the same call
constexpr unsigned silent_wait_ms = 100;

// Other threads of this process go on while this one waits. Where a job's process says nothing, as it can open no
// network, the job's others are not waited for as long.
bool late_address_ungated(const opal_process_name_t &name, modex *out) {
    static auto &silent = *new std::set<opal_jobid_t>; // under the gate
    engine &e = engine::instance();
    const unsigned most_ms = silent.contains(name.jobid) ? silent_wait_ms : late_wait_ms;
    e.leave();
    const bool there = glue_late_address(name, out, most_ms);
    e.enter();
    if (there) {
        silent.erase(name.jobid);
    } else {
        silent.insert(name.jobid);
    }
    return there;
}

opal_process_name_t unpack_name(std::uint64_t name) {
    opal_process_name_t n{};
    n.jobid = static_cast<opal_jobid_t>(name >> 32);
    n.vpid = static_cast<opal_vpid_t>(name & 0xffffffff);
    return n;
}

// Of this job.
bool has_no_board_with(const modex &m) {
    return m.node != glue_modex().node || !engine::instance().board_segment().mapped();
}

} // namespace

int glue_publish() {
    static bool published = false;
    if (published) {
        return OPAL_SUCCESS;
    }
    modex mine = glue_modex();
    int rc = OPAL_SUCCESS;
    OPAL_MODEX_SEND_STRING(rc, OPAL_PMIX_GLOBAL, process_key, &mine, mine.published_bytes());
    published = OPAL_SUCCESS == rc;
    return rc;
}

// A process's modex entry into out; false: it has none (no smartint there) or a foreign one.
bool glue_read(const opal_process_name_t &name, modex *out) {
    std::uint8_t *data = nullptr;
    std::size_t bytes = 0;
    int rc = OPAL_SUCCESS;
    opal_process_name_t who = name;
    OPAL_MODEX_RECV_STRING(rc, process_key, &who, &data, &bytes);
    if (OPAL_SUCCESS != rc || nullptr == data) {
        return false;
    }
    const bool ok = out->read(data, bytes);
    std::free(data);
    return ok;
}

// The board of this node, made by the leader; mapped at the first look.
void glue_join_board() {
    static bool tried = false;
    const modex &mine = glue_modex();
    if (tried || engine::instance().board_segment().mapped() || mine.leader == OPAL_PROC_MY_NAME.vpid) {
        return;
    }
    tried = true;
    opal_process_name_t leader{};
    leader.jobid = OPAL_PROC_MY_NAME.jobid;
    leader.vpid = mine.leader;
    modex m;
    if (glue_read(leader, &m) && 0 != m.board.slots && m.node == mine.node &&
        0 != engine::instance().open_board(m.board)) {
        glue_end(); // the others take us for one who reads its ring
    }
}

void glue_provide_ways(opal_proc_t **procs, std::size_t count) {
    engine &e = engine::instance();
    glue_join_board(); // before the thread starts, which sleeps on the board's descriptor
    if ("none" == e.settings().transport) {
        return;
    }
    const bool open = e.net().is_open(); // then those of this job have been counted
    const auto needed = std::count_if(procs, procs + count, [open](const opal_proc_t *proc) {
        modex m;
        return proc->proc_name.jobid != OPAL_PROC_MY_NAME.jobid ||
               (!open && 0 != opal_compare_proc(proc->proc_name, OPAL_PROC_MY_NAME) && glue_read(proc->proc_name, &m) &&
                has_no_board_with(m));
    });
    if (0 != needed) {
        glue_expect_peers(static_cast<std::size_t>(needed));
        glue_open_network();
    }
}

endpoint *glue_reach_shared(const opal_process_name_t &name, const modex &m) {
    if (name.jobid != OPAL_PROC_MY_NAME.jobid || has_no_board_with(m)) {
        return nullptr;
    }
    return engine::instance().add_shared(pack_name(name.jobid, name.vpid), m.slot);
}

endpoint *glue_reach_network(const opal_process_name_t &name, modex m) {
    // Jobs inside one node open no network, until they meet another: both sides of a connect or
    // spawn come here, each publishes its address before it asks for the other's.
    // So does one whose processes do not all reach each other through memory: each has opened it in MPI_Init.
    const bool late = name.jobid != OPAL_PROC_MY_NAME.jobid || has_no_board_with(m);
    if (late && (!glue_open_network() || (0 == m.address_bytes && !late_address_ungated(name, &m)))) {
        return nullptr;
    }
    modex leader; // of the peer's node: it knows the helper there
    bool known = false;
    if (name.jobid == OPAL_PROC_MY_NAME.jobid && m.node != glue_modex().node) {
        opal_process_name_t lead = name;
        lead.vpid = m.leader;
        leader = m;
        known = m.leader == name.vpid || (glue_read(lead, &leader) && leader.node == m.node);
    }
    const remote_node node{m.node, reinterpret_cast<const std::byte *>(leader.helper), leader.helper_bytes,
                           leader.board.secret_hi, leader.board.secret_lo};
    engine &e = engine::instance();
    endpoint *ep = e.add_network(pack_name(name.jobid, name.vpid), reinterpret_cast<const std::byte *>(m.address),
                                 m.address_bytes, known ? &node : nullptr, m.slot);
    if (nullptr != ep && name.jobid == OPAL_PROC_MY_NAME.jobid && m.node == glue_modex().node &&
        e.board_segment().mapped() && m.slot < e.board_segment().slots()) {
        ep->here = true; // shared_memory is 0, for messages: the board is there all the same
        ep->slot = static_cast<std::uint16_t>(m.slot);
    }
    return ep;
}

endpoint *glue_endpoint(const opal_proc_t *proc) {
    const opal_process_name_t name = proc->proc_name;
    engine &e = engine::instance();
    if (0 == opal_compare_proc(name, OPAL_PROC_MY_NAME)) {
        return e.add_self();
    }
    endpoint *known = e.find_peer(pack_name(name.jobid, name.vpid));
    // Not of one that has been met by its RTS alone: where its helper is it has not said. What has been looked for once
    // and is not there, as in a job without helpers, is not looked for again.
    if (nullptr != known && (known->asked || !e.lacks_helper(known))) {
        return known;
    }
    modex m;
    // Who started late published nothing: there is nobody to be asked but the process itself (glue_meet).
    if (glue_started_late() || proc->proc_arch != opal_proc_local_get()->proc_arch || !glue_read(name, &m)) {
        return known;
    }
    endpoint *ep = nullptr == known && 0 != e.settings().shared_memory ? glue_reach_shared(name, m) : nullptr;
    ep = nullptr != ep ? ep : glue_reach_network(name, m);
    if (nullptr != ep) {
        ep->asked = true;
    }
    return ep;
}

void glue_introduce(endpoint *ep) {
    if (glue_started_late()) {
        return; // it published nothing
    }
    const opal_process_name_t name = unpack_name(ep->name);
    // One that opened its network late has no helper that relays, and this is no place to wait for its address.
    if (modex m; glue_read(name, &m) && 0 != m.address_bytes) {
        glue_reach_network(name, m);
    }
}

const char *glue_host_of(std::uint64_t name) {
    const opal_proc_t *proc = opal_proc_for_name(unpack_name(name));
    const char *host = nullptr != proc ? opal_get_proc_hostname(proc) : nullptr;
    return nullptr != host ? host : "an unknown node";
}

bool glue_knows(const opal_proc_t *proc) {
    const opal_process_name_t name = proc->proc_name;
    return 0 == opal_compare_proc(name, OPAL_PROC_MY_NAME) ||
           nullptr != engine::instance().find_peer(pack_name(name.jobid, name.vpid));
}

endpoint *glue_meet(const opal_proc_t *proc, const modex &m) {
    const bool published = !glue_started_late() && proc->proc_name.jobid == OPAL_PROC_MY_NAME.jobid;
    if (published || glue_knows(proc)) {
        return glue_endpoint(proc);
    }
    // Of what a process wrote before it came here: it may be another's memory.
    modex checked;
    if (proc->proc_arch != opal_proc_local_get()->proc_arch || !checked.read(&m, m.published_bytes())) {
        return nullptr;
    }
    if (0 == checked.address_bytes && proc->proc_name.jobid != OPAL_PROC_MY_NAME.jobid) {
        return nullptr; // it has opened the network, if it can, before it came here
    }
    const segment_ticket &mine = glue_modex().board;
    const bool one_board =
        0 != mine.slots && mine.secret_hi == checked.board.secret_hi && mine.secret_lo == checked.board.secret_lo;
    if (!one_board && checked.node == glue_modex().node) {
        checked.node = 0; // it is beside this process, and not on its board: no notice reaches it
    }
    endpoint *ep = one_board && 0 != engine::instance().settings().shared_memory
                       ? glue_reach_shared(proc->proc_name, checked)
                       : nullptr;
    return nullptr != ep ? ep : glue_reach_network(proc->proc_name, checked);
}

bool glue_open_network() {
    static bool unpublished = false; // opened here, and others can't know it yet
    engine &e = engine::instance();
    if (e.net().is_open() && !unpublished) {
        return true;
    }
    if (0 != e.open_network() || !e.net().is_open()) {
        return false;
    }
    unpublished = true;
    glue_note_address();
    modex entry = glue_modex(); // as those who lead no node publish it: without board and helper
    entry.helper_bytes = 0;
    entry.board = segment_ticket{};
    int rc = OPAL_SUCCESS;
    OPAL_MODEX_SEND_STRING(rc, OPAL_PMIX_GLOBAL, late_key, &entry, entry.published_bytes());
    if (OPAL_SUCCESS == rc) {
        rc = opal_pmix.commit();
    }
    unpublished = OPAL_SUCCESS != rc;
    return !unpublished;
}

bool glue_late_address(const opal_process_name_t &name, modex *out, unsigned most_ms) {
    for (unsigned waited = 0; waited < most_ms; ++waited) {
        opal_process_name_t who = name;
        std::uint8_t *data = nullptr;
        std::size_t bytes = 0;
        int rc = OPAL_SUCCESS;
        OPAL_MODEX_RECV_STRING(rc, late_key, &who, &data, &bytes);
        if (OPAL_SUCCESS == rc && nullptr != data) {
            const bool ok = out->read(data, bytes) && 0 != out->address_bytes;
            std::free(data);
            return ok;
        }
        usleep(1000);
    }
    return false;
}

std::size_t modex::published_bytes() const {
    const bool leads = 0 != helper_bytes || 0 != board.slots;
    return leads ? sizeof(modex) : offsetof(modex, address) + address_bytes;
}

bool modex::read(const void *data, std::size_t bytes) {
    *this = modex{};
    if (bytes < offsetof(modex, address) || bytes > sizeof(modex)) {
        return false;
    }
    std::memcpy(this, data, bytes);
    return format == version && address_bytes <= sizeof(address) && helper_bytes <= sizeof(helper) &&
           bytes == published_bytes();
}

} // namespace smartint
