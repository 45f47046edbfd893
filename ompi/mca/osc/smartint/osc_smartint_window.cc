// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Windows: made, attached to, freed. All members learn where everybody's memory is. The processes of a
// node share that of allocated windows, and the words by which they lock each other's and accumulate.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "common_smartint_log.h"
#include "osc_smartint_memory.h"

extern "C" {
#include "ompi/mca/coll/coll.h"
#include "opal/util/info.h"
#include "opal/util/info_subscriber.h"
#include "opal/util/proc.h"
}

namespace smartint::osc {
namespace {

int barrier(ompi_communicator_t *comm) { return comm->c_coll->coll_barrier(comm, comm->c_coll->coll_barrier_module); }

bool info_says(opal_info_t *info, const char *key) {
    bool value = false;
    int found = 0;
    if (nullptr != info) {
        opal_info_get_bool(info, const_cast<char *>(key), &value, &found);
    }
    return 0 != found && value;
}

// MPI_Win_get_info tells what somebody subscribed to, and nothing else. All of these are promises of the user's
// that one may make later too (MPI-3.1, 11.2.7); what is given here is the strictest in any case.
bool is_bool(std::string_view v) { return "true" == v || "false" == v; }

bool is_ops(std::string_view v) { return "same_op" == v || "same_op_no_op" == v; }

bool is_ordering(std::string_view v) {
    if ("none" == v) {
        return true;
    }
    for (;;) {
        const std::string_view one = v.substr(0, v.find(','));
        if ("rar" != one && "raw" != one && "war" != one && "waw" != one) {
            return false;
        }
        if (one.size() == v.size()) {
            return true;
        }
        v.remove_prefix(one.size() + 1);
    }
}

struct hint {
    const char *key;
    const char *initial;
    bool (*known)(std::string_view);
    bool of_shared = false; // windows only
};

constexpr const char *no_locks = "no_locks";
constexpr hint hints[] = {
    {no_locks, "false", is_bool},
    {"accumulate_ordering", "rar,raw,war,waw", is_ordering},
    {"accumulate_ops", "same_op_no_op", is_ops},
    {"same_size", "false", is_bool},
    {"same_disp_unit", "false", is_bool},
    {"alloc_shared_noncontig", "false", is_bool, true},
};

// nullptr: not taken, and MPI_Win_get_info leaves the key out. Open MPI would tell another value that we answer
// with as what the user said.
char *on_hint(opal_infosubscriber_t *object, char *key, char *value) noexcept {
    const auto *win = reinterpret_cast<const ompi_win_t *>(object); // begins with it
    for (const hint &h : hints) {
        if (0 == std::strcmp(h.key, key)) {
            if (nullptr == value || !h.known(value)) {
                return nullptr;
            }
            const bool refuses = h.key == no_locks && 0 != (win->w_flags & OMPI_WIN_NO_LOCKS); // as it was made
            return refuses && 0 != std::strcmp(value, "true") ? nullptr : value;
        }
    }
    return nullptr;
}

int subscribe(ompi_win_t *win, bool shared) {
    for (const hint &h : hints) {
        if (h.of_shared && !shared) {
            continue;
        }
        if (const int rc = opal_infosubscribe_subscribe(&win->super, const_cast<char *>(h.key),
                                                        const_cast<char *>(h.initial), on_hint);
            OPAL_SUCCESS != rc) {
            return rc;
        }
    }
    return OMPI_SUCCESS;
}

// Some share a node, and all want to share words. The same answer everywhere.
bool worth_sharing(const std::vector<announcement> &all) {
    std::unordered_map<std::uint64_t, int> members;
    bool several = false;
    for (const announcement &a : all) {
        several = ++members[a.node] > 1 || several;
        if (0 == a.shares) {
            return false;
        }
    }
    return several;
}

opal_proc_t *process(const module &m, std::size_t rank) {
    return &ompi_comm_peer_lookup(m.comm, static_cast<int>(rank))->super;
}

// Where nothing began before the first window, processes know of each other what they tell in windows they have in
// common. Who meets one of another job needs the network for it, and tells its address.
bool has_strangers(const module &m, std::size_t processes) {
    const inside here;
    bool strangers = false;
    bool other_jobs = false;
    for (std::size_t i = 0; i < processes; ++i) {
        const opal_proc_t *p = process(m, i);
        strangers = strangers || (glue_started_late() && !glue_knows(p));
        other_jobs = other_jobs || p->proc_name.jobid != OPAL_PROC_MY_NAME.jobid;
    }
    if (other_jobs) {
        glue_open_network(); // else these can't be reached: an error of the window
    }
    return strangers;
}

// Everybody tells everybody else how it is reached.
int introduce(const module &m, std::size_t processes) {
    std::vector<modex> all(processes);
    modex mine;
    {
        const inside here; // another thread may open the network
        mine = glue_modex();
    }
    const auto bytes = static_cast<int>(sizeof(modex));
    const int rc = m.comm->c_coll->coll_allgather(&mine, bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, m.comm,
                                                  m.comm->c_coll->coll_allgather_module);
    const inside here;
    for (std::size_t i = 0; OMPI_SUCCESS == rc && i < processes; ++i) {
        glue_meet(process(m, i), all[i]);
    }
    return rc;
}

// Memory of this process into `mine`, everybody's into `all`, words if they can be had. An MPI error, the
// same at all.
int provide_memory(module &m, void **base, announcement &mine, std::vector<announcement> &all, plan *where) {
    if (MPI_WIN_FLAVOR_CREATE == m.flavor) {
        mine.base = reinterpret_cast<std::uint64_t>(*base);
    }
    int rc = exchange(m.comm, mine, &all);
    int error = MPI_SUCCESS;
    if (OMPI_SUCCESS == rc && any_error(all, &error)) {
        return error;
    }
    if (OMPI_SUCCESS == rc &&
        std::any_of(all.begin(), all.end(), [](const announcement &a) { return 0 != a.strangers; })) {
        rc = introduce(m, all.size());
    }
    const bool one_node =
        std::all_of(all.begin(), all.end(), [&](const announcement &a) { return a.node == mine.node; });
    if (OMPI_SUCCESS == rc && m.shared() && !one_node) {
        return MPI_ERR_RMA_SHARED; // the same everywhere
    }
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    m.shares_words = worth_sharing(all);
    if (!m.allocates() && !m.shares_words) {
        return rc;
    }
    // One map for all, though they may say different things: next to each other unless all can do without.
    const bool packed =
        m.shared() && std::any_of(all.begin(), all.end(), [](const announcement &a) { return 0 == a.apart; });
    *where = plan_of(m, packed, mine, all);
    rc = share_memory(m, found::by_descriptor, *where, mine, all);
    if (OMPI_SUCCESS == rc && m.shared() && any_error(all, &error) && MPI_ERR_RMA_SHARED == error) {
        // Who may look at no other process may not tell whether one that holds a word has ended: the memory alone.
        m.shares_words = false;
        m.memory.release();
        rc = share_memory(m, found::by_name, *where, mine, all);
    }
    if (OMPI_SUCCESS == rc && any_error(all, &error)) {
        if (m.shared() || MPI_ERR_NO_MEM == error) {
            return error;
        }
        m.shares_words = false;
        m.memory.release();
        rc = m.allocates() ? own_memory(m, mine, all) : exchange(m.comm, mine, &all);
        if (OMPI_SUCCESS == rc && any_error(all, &error)) {
            return error;
        }
    }
    if (OMPI_SUCCESS == rc && m.allocates()) {
        mine.base = all[static_cast<std::size_t>(ompi_comm_rank(m.comm))].base;
        *base = reinterpret_cast<void *>(mine.base);
    }
    return rc;
}

std::vector<rma_member> members_of(module &m, const announcement &mine, const std::vector<announcement> &all,
                                   const plan &where) {
    const inside here;
    std::vector<rma_member> members(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        rma_member &member = members[i];
        member.ep = glue_endpoint(process(m, i));
        member.base = all[i].base;
        member.bytes = all[i].bytes;
        if (nullptr != m.memory.base && all[i].node == mine.node) {
            member.mapped = m.allocates() ? m.memory.base + where.memory[i] : nullptr;
            member.words =
                m.shares_words ? reinterpret_cast<layout::window_words *>(m.memory.base + where.words[i]) : nullptr;
        }
        m.units.push_back(all[i].unit);
    }
    return members;
}

int prepare(module &m, void **base, std::size_t size, int disp_unit, opal_info_t *info) {
    const auto processes = static_cast<std::size_t>(ompi_comm_size(m.comm));
    announcement mine;
    if (!begin()) {
        mine.error = MPI_ERR_OTHER;
    } else {
        mine.strangers = has_strangers(m, processes) ? 1 : 0;
    }
    mine.node = glue_modex().node;
    mine.pid = static_cast<std::uint32_t>(getpid());
    mine.start_time = process_start_time(mine.pid);
    mine.bytes = size;
    mine.unit = disp_unit;
    for (target_set *set : {&m.access, &m.locks, &m.all_taken}) {
        set->resize(static_cast<int>(processes));
    }
    std::vector<announcement> all(processes);
    mine.shares = static_cast<std::int16_t>(engine::instance().settings().window_shared);
    mine.apart = info_says(info, "alloc_shared_noncontig") ? 1 : 0;
    plan where;
    if (const int rc = provide_memory(m, base, mine, all, &where); OMPI_SUCCESS != rc) {
        return rc;
    }
    std::vector<rma_member> members = members_of(m, mine, all, where);
    const bool reached =
        std::all_of(members.begin(), members.end(), [](const rma_member &x) { return nullptr != x.ep; });
    mine.error = reached ? MPI_SUCCESS : MPI_ERR_OTHER;
    engine &e = engine::instance();
    {
        const inside here;
        if (reached) {
            e.hooks().rma_done = request_done;
            m.window = e.one_sided().create(m.comm->c_contextid, ompi_comm_rank(m.comm), std::move(members),
                                            MPI_WIN_FLAVOR_DYNAMIC == m.flavor);
        }
    }
    // From here on messages for the window find it; nobody leaves before all are that far.
    int rc = exchange(m.comm, mine, &all);
    int error = MPI_SUCCESS;
    if (OMPI_SUCCESS == rc && any_error(all, &error)) {
        rc = error;
    }
    if (m.memory.fd >= 0) {
        close(m.memory.fd);
        m.memory.fd = -1;
    }
    return rc;
}

void unmake(module *m) {
    if (nullptr != m->window) {
        const inside here;
        m->forget_hand();
        engine::instance().one_sided().destroy(m->window);
    }
    if (nullptr != m->comm) {
        ompi_comm_free(&m->comm);
    }
    std::free(m->own);
    delete m;
}

} // namespace

int make_window(ompi_win_t *win, void **base, std::size_t size, int disp_unit, ompi_communicator_t *comm,
                opal_info_t *info, int flavor, int *model) {
    auto *m = new (std::nothrow) module;
    if (nullptr == m) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    m->super = module_functions;
    m->win = win;
    m->flavor = flavor;
    int rc = ompi_comm_dup(comm, &m->comm);
    if (OMPI_SUCCESS == rc) {
        rc = prepare(*m, base, size, disp_unit, info);
    }
    if (OMPI_SUCCESS == rc) {
        if (info_says(info, no_locks)) {
            win->w_flags = static_cast<std::uint16_t>(win->w_flags | OMPI_WIN_NO_LOCKS);
        }
        rc = subscribe(win, m->shared());
    }
    if (OMPI_SUCCESS != rc) {
        flush_reports(); // before Open MPI ends the job of it
        unmake(m);
        return rc;
    }
    *model = MPI_WIN_UNIFIED;
    win->w_osc_module = &m->super;
    return OMPI_SUCCESS;
}

namespace {

// Open MPI 4.1 takes the number of the Fortran handle and the info object away whatever the component says: kept here
// until the window is freed for good.
int refuse_to_free(ompi_win_t *win, module &m) {
    m.fortran_number = std::exchange(win->w_f_to_c_index, -1);
    if (nullptr != win->super.s_info) {
        OBJ_RETAIN(win->super.s_info);
    }
    return MPI_ERR_RMA_SYNC;
}

} // namespace

extern "C" {

int osc_smartint_free(ompi_win_t *win) noexcept {
    module &m = of(win);
    {
        const inside here;
        m.mend_handle();
        if (m.passive() || m.started || 0 != m.exposures) {
            return refuse_to_free(win, m);
        }
    }
    rma &r = engine::instance().one_sided();
    wait_until([&] { return r.idle(m.window); });
    // Where a member is lost, which is known by now, it is unmade all the same; with an error Open MPI would keep the
    // handle, and the next call with it would find no module.
    barrier(m.comm);
    wait_until([&] { return r.idle(m.window); }); // answers that are under way
    {
        const inside here;
        engine::instance().pass(false); // what a target has refused it has said before that
        r.finish();                     // requests of epochs that ended meanwhile, which ask their window for an error
    }
    if (const int error = report(m); MPI_SUCCESS != error) { // no call has told it
        ompi_errhandler_invoke(win->error_handler, win, win->errhandler_type, error, "MPI_Win_free");
    }
    win->w_osc_module = nullptr;
    unmake(&m);
    return MPI_SUCCESS;
}

int osc_smartint_attach(ompi_win_t *win, void *base, std::size_t size) noexcept {
    module &m = of(win);
    const inside here;
    if (!m.window->dynamic) {
        return MPI_ERR_RMA_FLAVOR;
    }
    return engine::instance().one_sided().attach(m.window, reinterpret_cast<std::uint64_t>(base), size)
               ? MPI_SUCCESS
               : MPI_ERR_RMA_ATTACH;
}

int osc_smartint_detach(ompi_win_t *win, const void *base) noexcept {
    module &m = of(win);
    const inside here;
    if (!m.window->dynamic) {
        return MPI_ERR_RMA_FLAVOR;
    }
    return engine::instance().one_sided().detach(m.window, reinterpret_cast<std::uint64_t>(base)) ? MPI_SUCCESS
                                                                                                  : MPI_ERR_RMA_ATTACH;
}

int osc_smartint_shared_query(ompi_win_t *win, int rank, std::size_t *size, int *disp_unit, void *baseptr) noexcept {
    module &m = of(win);
    const inside here;
    if (!m.shared()) {
        return MPI_ERR_RMA_FLAVOR;
    }
    if (MPI_PROC_NULL == rank) { // the lowest that has any
        rank = 0;
        while (rank + 1 < m.window->size() && 0 == m.window->members[static_cast<std::size_t>(rank)].bytes) {
            ++rank;
        }
    }
    const rma_member &member = m.window->members[static_cast<std::size_t>(rank)];
    *size = member.bytes;
    *disp_unit = static_cast<int>(m.units[static_cast<std::size_t>(rank)]);
    *static_cast<void **>(baseptr) = 0 == member.bytes ? nullptr : member.mapped;
    return MPI_SUCCESS;
}

} // extern "C"
} // namespace smartint::osc
