// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Life of the component. It offers itself only where the user named it.
#include <mutex>

#include "osc_smartint.h"

#include "common_smartint_log.h"

extern "C" {
#include "ompi/runtime/mpiruntime.h"
}

namespace smartint::osc {
namespace {

unsigned priority = 200; // above sm and rdma: it only stands where the user named us

bool ready = false;      // offered to windows
bool alone = false;      // the user named another pml: the engine runs for the sake of windows
bool progresses = false; // and Open MPI has it make progress

// Open MPI polls what is registered here in every wait of its own.
int progress() noexcept { return engine::instance().progress(); }

extern "C" {
int osc_smartint_register() noexcept;
int osc_smartint_open() noexcept {
    // ompi_info opens components too, outside of any job
    alone = OPAL_JOBID_INVALID != OPAL_PROC_MY_NAME.jobid && glue_named("osc") && !glue_named("pml");
    if (alone && OPAL_SUCCESS != glue_check_params()) {
        glue_end_in_turn(); // Open MPI would say that no component can be opened, which misleads
    }
    return OMPI_SUCCESS;
}
int osc_smartint_close() noexcept {
    if (alone) {
        glue_stop();
    }
    return OMPI_SUCCESS;
}
int osc_smartint_init(bool, bool) noexcept {
    if (!glue_named("osc") || !(alone || engine::instance().started())) {
        return OMPI_ERR_NOT_AVAILABLE;
    }
    ready = true;
    offer_nonblocking(true);
    return OMPI_SUCCESS;
}
int osc_smartint_finalize() noexcept {
    offer_nonblocking(false);
    ready = false;
    if (progresses) {
        opal_progress_unregister(progress);
        progresses = false;
    }
    if (alone && engine::instance().started()) {
        engine::instance().finish();
        flush_reports();
    }
    return OMPI_SUCCESS;
}

int osc_smartint_query(ompi_win_t *, void **, std::size_t, int, ompi_communicator_t *, opal_info_t *,
                       int flavor) noexcept {
    if (!ready) {
        return -1;
    }
    return MPI_WIN_FLAVOR_CREATE == flavor || MPI_WIN_FLAVOR_ALLOCATE == flavor || MPI_WIN_FLAVOR_DYNAMIC == flavor ||
                   MPI_WIN_FLAVOR_SHARED == flavor
               ? static_cast<int>(priority)
               : -1;
}

int osc_smartint_select(ompi_win_t *win, void **base, std::size_t size, int disp_unit, ompi_communicator_t *comm,
                        opal_info_t *info, int flavor, int *model) noexcept {
    return make_window(win, base, size, disp_unit, comm, info, flavor, model);
}
}

} // namespace

bool begin() {
    static std::mutex first; // threads may make windows at the same time
    const std::lock_guard<std::mutex> hold(first);
    if (!alone || progresses) {
        return true;
    }
    if (OPAL_SUCCESS != glue_start_late(ompi_mpi_thread_multiple)) {
        return false;
    }
    {
        const inside here;
        glue_join_board(); // of the btl's making, where that is named too
    }
    progresses = OPAL_SUCCESS == opal_progress_register(progress);
    glue_start_thread();
    return progresses;
}

const ompi_osc_base_module_t module_functions = {
    .osc_win_shared_query = osc_smartint_shared_query,
    .osc_win_attach = osc_smartint_attach,
    .osc_win_detach = osc_smartint_detach,
    .osc_free = osc_smartint_free,
    .osc_put = osc_smartint_put,
    .osc_get = osc_smartint_get,
    .osc_accumulate = osc_smartint_accumulate,
    .osc_compare_and_swap = osc_smartint_compare_and_swap,
    .osc_fetch_and_op = osc_smartint_fetch_and_op,
    .osc_get_accumulate = osc_smartint_get_accumulate,
    .osc_rput = osc_smartint_rput,
    .osc_rget = osc_smartint_rget,
    .osc_raccumulate = osc_smartint_raccumulate,
    .osc_rget_accumulate = osc_smartint_rget_accumulate,
    .osc_fence = osc_smartint_fence,
    .osc_start = osc_smartint_start,
    .osc_complete = osc_smartint_complete,
    .osc_post = osc_smartint_post,
    .osc_wait = osc_smartint_wait,
    .osc_test = osc_smartint_test,
    .osc_lock = osc_smartint_lock,
    .osc_unlock = osc_smartint_unlock,
    .osc_lock_all = osc_smartint_lock_all,
    .osc_unlock_all = osc_smartint_unlock_all,
    .osc_sync = osc_smartint_sync,
    .osc_flush = osc_smartint_flush,
    .osc_flush_all = osc_smartint_flush_all,
    .osc_flush_local = osc_smartint_flush_local,
    .osc_flush_local_all = osc_smartint_flush_local_all,
};

} // namespace smartint::osc

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers" // the rest is reserved, zero
extern "C" {
__attribute__((visibility("default"))) ompi_osc_base_component_t mca_osc_smartint_component = {
    .osc_version =
        {
            OMPI_OSC_BASE_VERSION_3_0_0,
            .mca_component_name = "smartint",
            .mca_component_major_version = SMARTINT_MAJOR_VERSION,
            .mca_component_minor_version = SMARTINT_MINOR_VERSION,
            .mca_component_release_version = SMARTINT_RELEASE_VERSION,
            .mca_open_component = smartint::osc::osc_smartint_open,
            .mca_close_component = smartint::osc::osc_smartint_close,
            .mca_register_component_params = smartint::osc::osc_smartint_register,
        },
    .osc_data = {.param_field = MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .osc_init = smartint::osc::osc_smartint_init,
    .osc_query = smartint::osc::osc_smartint_query,
    .osc_select = smartint::osc::osc_smartint_select,
    .osc_finalize = smartint::osc::osc_smartint_finalize,
};
}
#pragma GCC diagnostic pop

namespace smartint::osc {
namespace {

extern "C" int osc_smartint_register() noexcept {
    const int rc = glue_register();
    if (OPAL_SUCCESS != rc) {
        return rc;
    }
    mca_base_component_var_register(&mca_osc_smartint_component.osc_version, "priority",
                                    "Priority of the component among those the user named",
                                    MCA_BASE_VAR_TYPE_UNSIGNED_INT, nullptr, 0, static_cast<mca_base_var_flag_t>(0),
                                    OPAL_INFO_LVL_9, MCA_BASE_VAR_SCOPE_READONLY, &priority);
    return OMPI_SUCCESS;
}

} // namespace
} // namespace smartint::osc
