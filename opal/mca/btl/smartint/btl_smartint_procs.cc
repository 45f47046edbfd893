// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Which processes each module reaches. What a peer publishes is checked before use.
#include <cstdlib>

#include "btl_smartint.h"

extern "C" mca_btl_base_component_3_0_0_t mca_btl_smartint_component;

namespace smartint::btl {
namespace {

// A process's modex entry into out; false: it has none (no smartint there) or a foreign one.
bool read_modex(const opal_process_name_t &name, modex *out) {
    void *data = nullptr;
    std::size_t bytes = 0;
    int rc = OPAL_SUCCESS;
    opal_process_name_t who = name;
    OPAL_MODEX_RECV(rc, &mca_btl_smartint_component.btl_version, &who, &data, &bytes);
    if (OPAL_SUCCESS != rc || nullptr == data) {
        return false;
    }
    const bool ok = out->read(data, bytes);
    std::free(data);
    return ok;
}

// The board of this node, made by the leader; mapped at the first look.
void join_board() {
    static bool tried = false;
    const modex &mine = glue_modex();
    if (tried || engine::instance().board_segment().mapped() ||
        mine.leader == OPAL_PROC_MY_NAME.vpid) {
        return;
    }
    tried = true;
    opal_process_name_t leader{};
    leader.jobid = OPAL_PROC_MY_NAME.jobid;
    leader.vpid = mine.leader;
    modex m;
    if (read_modex(leader, &m) && 0 != m.board.slots && m.node == mine.node &&
        0 != engine::instance().open_board(m.board)) {
        glue_end(); // the others take us for one who reads its ring
    }
}

endpoint *reach_shared(const opal_process_name_t &name, const modex &m) {
    if (name.jobid != OPAL_PROC_MY_NAME.jobid || m.node != glue_modex().node ||
        !engine::instance().board_segment().mapped()) {
        return nullptr;
    }
    return engine::instance().add_shared(pack_name(name.jobid, name.vpid), m.slot);
}

endpoint *reach_network(const opal_process_name_t &name, modex m) {
    // Jobs inside one node open no network, until they meet another: both sides of a connect or
    // spawn come here, each publishes its address before it asks for the other's.
    if (name.jobid != OPAL_PROC_MY_NAME.jobid &&
        (!glue_open_network() || (0 == m.address_bytes && !glue_late_address(name, &m)))) {
        return nullptr;
    }
    modex leader; // of the peer's node: it knows the helper there
    bool known = false;
    if (name.jobid == OPAL_PROC_MY_NAME.jobid && m.node != glue_modex().node) {
        opal_process_name_t lead = name;
        lead.vpid = m.leader;
        leader = m;
        known = m.leader == name.vpid || (read_modex(lead, &leader) && leader.node == m.node);
    }
    const remote_node node{m.node, reinterpret_cast<const std::byte *>(leader.helper),
                           leader.helper_bytes, leader.board.secret_hi, leader.board.secret_lo};
    engine &e = engine::instance();
    endpoint *ep = e.add_network(pack_name(name.jobid, name.vpid),
                                 reinterpret_cast<const std::byte *>(m.address), m.address_bytes,
                                 known ? &node : nullptr, m.slot);
    if (nullptr != ep && name.jobid == OPAL_PROC_MY_NAME.jobid && m.node == glue_modex().node &&
        e.board_segment().mapped() && m.slot < e.board_segment().slots()) {
        ep->here = true; // shared_memory is 0, for messages: the board is there all the same
        ep->slot = static_cast<std::uint16_t>(m.slot);
    }
    return ep;
}

} // namespace

int add_procs(mca_btl_base_module_t *btl, std::size_t count, opal_proc_t **procs,
              mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable) {
    const bool shared = reinterpret_cast<module *>(btl)->shared;
    engine &e = engine::instance();
    e.enter();
    join_board();
    for (std::size_t i = 0; i < count; ++i) {
        endpoints[i] = nullptr;
        const opal_process_name_t name = procs[i]->proc_name;
        const bool self = 0 == opal_compare_proc(name, OPAL_PROC_MY_NAME);
        modex m;
        const bool pointless = !shared && name.jobid == OPAL_PROC_MY_NAME.jobid &&
                               !e.net().is_open(); // nothing to look up
        if (self || pointless || procs[i]->proc_arch != opal_proc_local_get()->proc_arch ||
            !read_modex(name, &m)) {
            continue;
        }
        const bool here = 0 != e.settings().shared_memory && nullptr != reach_shared(name, m);
        endpoint *ep = nullptr;
        if (shared) {
            ep = here ? reach_shared(name, m) : nullptr;
        } else if (!here) {
            ep = reach_network(name, m);
        }
        if (nullptr != ep) {
            endpoints[i] = as_btl(ep);
            if (nullptr != reachable) {
                opal_bitmap_set_bit(reachable, static_cast<int>(i));
            }
        }
    }
    e.leave();
    return OPAL_SUCCESS;
}

// Endpoints live as long as the engine: a name never comes back for another process.
int del_procs(mca_btl_base_module_t *, std::size_t, opal_proc_t **, mca_btl_base_endpoint_t **) {
    return OPAL_SUCCESS;
}

} // namespace smartint::btl
