// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Life of the component. It offers itself only where the user named it.
#include <climits>

#include "common_smartint_log.h"
#include "pml_smartint_request.h"

extern "C" {
#include "ompi/mca/bml/base/base.h"
#include "ompi/mca/rte/rte.h"
#include "opal/util/show_help.h"
}

namespace smartint::pml {
namespace {

bool chosen = false;
unsigned priority = 60; // above the others': it only stands where the user named us

extern "C" {
int pml_smartint_register() noexcept;
int pml_smartint_open() noexcept { return OMPI_SUCCESS; }
int pml_smartint_close() noexcept {
    if (chosen) { // else the engine, if it runs, is the btl's
        glue_stop();
        destroy_request_lists(); // not before: the transport's last words are of freed requests that were under way
    }
    return OMPI_SUCCESS;
}
mca_pml_base_module_t *pml_smartint_init(int *priority_out, bool progress_threads, bool mpi_threads) noexcept;
int pml_smartint_finalize() noexcept;
}

void fatal(const char *what) {
    if (0 != *what) { // else it was told
        glue_say_here(opal_show_help_string("help-pml-smartint.txt", "fatal", 1, this_node(), what));
    }
    ompi_rte_abort(1, nullptr);
}

} // namespace

mca_pml_base_module_t the_module = {
    .pml_add_procs = pml_smartint_add_procs,
    .pml_del_procs = pml_smartint_del_procs,
    .pml_enable = pml_smartint_enable,
    .pml_progress = pml_smartint_progress,
    .pml_add_comm = pml_smartint_add_comm,
    .pml_del_comm = pml_smartint_del_comm,
    .pml_irecv_init = pml_smartint_irecv_init,
    .pml_irecv = pml_smartint_irecv,
    .pml_recv = pml_smartint_recv,
    .pml_isend_init = pml_smartint_isend_init,
    .pml_isend = pml_smartint_isend,
    .pml_send = pml_smartint_send,
    .pml_iprobe = pml_smartint_iprobe,
    .pml_probe = pml_smartint_probe,
    .pml_start = pml_smartint_start,
    .pml_improbe = pml_smartint_improbe,
    .pml_mprobe = pml_smartint_mprobe,
    .pml_imrecv = pml_smartint_imrecv,
    .pml_mrecv = pml_smartint_mrecv,
    .pml_dump = pml_smartint_dump,
    .pml_ft_event = nullptr,
    .pml_max_contextid = 0x7fffffff,
    .pml_max_tag = INT_MAX,
    .pml_flags = 0,
};

extern "C" {

int pml_smartint_enable(bool enable) noexcept {
    if (enable) {
        chosen = true;
        engine::instance().hooks().pml_progresses = true;
        make_request_lists();
        hook_waits();
    }
    return OMPI_SUCCESS;
}

int pml_smartint_progress() noexcept { return engine::instance().progress(); }

} // extern "C"
} // namespace smartint::pml

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers" // the rest is reserved, zero
extern "C" {
__attribute__((visibility("default"))) mca_pml_base_component_2_0_0_t mca_pml_smartint_component = {
    .pmlm_version =
        {
            MCA_PML_BASE_VERSION_2_0_0,
            .mca_component_name = "smartint",
            .mca_component_major_version = SMARTINT_MAJOR_VERSION,
            .mca_component_minor_version = SMARTINT_MINOR_VERSION,
            .mca_component_release_version = SMARTINT_RELEASE_VERSION,
            .mca_open_component = smartint::pml::pml_smartint_open,
            .mca_close_component = smartint::pml::pml_smartint_close,
            .mca_register_component_params = smartint::pml::pml_smartint_register,
        },
    .pmlm_data = {.param_field = MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .pmlm_init = smartint::pml::pml_smartint_init,
    .pmlm_finalize = smartint::pml::pml_smartint_finalize,
};
}
#pragma GCC diagnostic pop

namespace smartint::pml {
namespace {

extern "C" {

int pml_smartint_register() noexcept {
    const int rc = glue_register();
    if (OPAL_SUCCESS != rc) {
        return rc;
    }
    mca_base_component_var_register(&mca_pml_smartint_component.pmlm_version, "priority",
                                    "Without effect: Open MPI takes the first pml that the user named",
                                    MCA_BASE_VAR_TYPE_UNSIGNED_INT, nullptr, 0, static_cast<mca_base_var_flag_t>(0),
                                    OPAL_INFO_LVL_9, MCA_BASE_VAR_SCOPE_READONLY, &priority);
    return OMPI_SUCCESS;
}

mca_pml_base_module_t *pml_smartint_init(int *priority_out, bool progress_threads, bool mpi_threads) noexcept {
    if (!glue_named("pml")) {
        return nullptr;
    }
    // Before the BML opens the transports: the helper must be a child from before any of them.
    if (OPAL_SUCCESS != glue_start(mpi_threads) || OPAL_SUCCESS != glue_publish()) {
        return nullptr;
    }
    engine_hooks &h = engine::instance().hooks();
    h.receive_done = receive_done;
    h.send_done = send_done;
    h.fatal = fatal;
    if (OMPI_SUCCESS != mca_bml_base_init(progress_threads, mpi_threads)) {
        return nullptr;
    }
    mca_pml_base_bsend_init(mpi_threads);
    *priority_out = static_cast<int>(priority);
    return &the_module;
}

int pml_smartint_finalize() noexcept {
    unhook_waits();
    if (chosen) {
        engine::instance().finish();
        flush_reports();
    }
    mca_pml_base_bsend_fini();
    return OMPI_SUCCESS;
}

} // extern "C"
} // namespace
} // namespace smartint::pml
