// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What the components share of the glue to Open MPI: parameters, counters, messages, and the
// decision whether smartint was chosen at all. Application thread only.
#pragma once

#include <smartint/ompi_glue.h>

extern "C" {
#include "opal/mca/base/mca_base_var.h"
#include "opal/mca/mca.h"
#include "opal/util/proc.h"
}

#include "common_smartint_engine.h"

namespace smartint {

// What Open MPI is given to call. No exception may come into its frames: only a function that lets none out fits.
template <class R, class... A> constexpr auto boundary(R (*f)(A...) noexcept) -> R (*)(A...) { return f; }

// Registers parameters and counters anew for each component that opens; refuses an Open MPI of another branch.
// OPAL_SUCCESS or an OPAL error.
int glue_register();

// True if the user named smartint for this framework ("pml", "btl", ...): in any other job
// nothing of it may start.
bool glue_named(const char *framework);
// The pml, or osc under any pml: there is something to overlap, by interrupt threads and helpers.
bool glue_overlaps();

// Start the engine for this process: parameters checked, board made by the local leader,
// helper started. Idempotent. enable_threads: MPI_THREAD_MULTIPLE. OPAL_SUCCESS or an error
// that was reported; where the user named the pml or osc, the process ends instead.
int glue_start(bool enable_threads);
// The same after MPI_Init, for the first window beside another pml: by whichever processes have it. What others need to
// reach this one is in glue_modex() then, and they have to be told (glue_meet). A job goes on where it fails. One
// thread at a time.
int glue_start_late(bool enable_threads);
bool glue_started_late(); // it was
// Whether all parameters are in their range; told if not. OPAL_SUCCESS or OPAL_ERR_BAD_PARAM.
int glue_check_params();
void glue_stop();
// What opal_show_help_string made, which is freed: said by this process and not through mpirun, where stock's 4.1 loses
// a message now and then, and says ORTE_ERROR_LOG instead.
void glue_say_here(char *text);
// The job can't go on: what was reported is told, and mpirun finds this process ended.
[[noreturn]] void glue_end();
// The same where most often all ranks have it to say: the first does, and mpirun ends the others, within two seconds,
// before it is their turn.
[[noreturn]] void glue_end_in_turn();

// The interrupt thread may run: the pml is chosen, or there is a window; not for the btl under ob1. Idempotent.
void glue_start_thread();

// What a process tells the others about itself. Open MPI keeps it on every node for every process
// of the job: who leads no node publishes it up to the end of its address only.
struct modex {
    static constexpr std::uint32_t format = 0x736d0009;
    std::uint32_t version = format;
    std::uint32_t slot = 0;
    std::uint64_t node = 0;
    std::uint32_t leader = 0; // process number of the first rank of this one's node
    std::uint32_t address_bytes = 0;
    std::uint32_t helper_bytes = 0; // of the leader only
    std::uint32_t pad = 0;
    std::uint8_t address[96] = {};
    std::uint8_t helper[96] = {};
    segment_ticket board; // of the leader only; slots 0: no board

    std::size_t published_bytes() const;
    // From what another process published. False: it is not of this format.
    bool read(const void *data, std::size_t bytes);
};
const modex &glue_modex();

// What others need to reach this process (common_smartint_mca_procs.cc). Published once, before the
// processes of the job exchange what they published; read afterwards. False: it published nothing, or
// what is not of this format.
int glue_publish();
bool glue_read(const opal_process_name_t &name, modex *out);
// The board of this node, made by the leader; mapped at the first call.
void glue_join_board();
// Under the gate, where processes are met: in MPI_Init, or of another job. A job inside one node opens no network.
// Where no board leads from here to one of these (another job's; or it could not be made, or a container has shared
// memory of its own) the network is opened after all, and its address published before anybody asks for it.
void glue_provide_ways(opal_proc_t **procs, std::size_t count);
// By one of the transports, under the gate. nullptr: not that way.
endpoint *glue_reach_shared(const opal_process_name_t &name, const modex &m);
endpoint *glue_reach_network(const opal_process_name_t &name, modex m); // which may leave the gate for a while
// By whatever leads there, under the gate.
endpoint *glue_endpoint(const opal_proc_t *proc);
// The engine's hook for a process of this job that was met by its RTS alone: by what it published, under the gate.
void glue_introduce(endpoint *ep);
// The same where the process itself has told `m`, and for good: the other finds it by its name.
endpoint *glue_meet(const opal_proc_t *proc, const modex &m);
// Whether it can be found, under the gate.
bool glue_knows(const opal_proc_t *proc);
// The node of a process, as Open MPI calls it; name: as endpoints are named.
const char *glue_host_of(std::uint64_t name);

// So many more processes are reached by the network. Sockets of UCX's tcp: two connections to each, and for a moment
// those that it begins at the same time. The shell's soft limit is often 1024 with a hard one far above; a connection
// that finds no descriptor would be a lost peer. Under the gate, but at the start.
void glue_expect_peers(std::size_t more);
// The network is open now: its address into glue_modex().
void glue_note_address();
// A process of another job was met, and only the network leads there: open this one's if it is
// not, under the gate, and publish its address. False: there is no network; reported.
bool glue_open_network();
// The address that such a process publishes in its turn, waited for so long, into out. False: none came.
bool glue_late_address(const opal_process_name_t &name, modex *out, unsigned most_ms);

inline std::uint64_t pack_name(std::uint32_t job, std::uint32_t process) {
    return static_cast<std::uint64_t>(job) << 32 | process;
}

} // namespace smartint
