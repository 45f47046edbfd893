// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Life of the component. Open MPI opens every BTL in every job before it chooses a PML, so
// everything here stays still until the user has named smartint.
#include "btl_smartint.h"

#include <cstdlib>

namespace smartint::btl {
namespace {

bool started = false; // by this component

extern "C" int btl_smartint_register() noexcept;
extern "C" int btl_smartint_open() noexcept { return OPAL_SUCCESS; }
extern "C" int btl_smartint_close() noexcept {
    if (started) {                           // else the engine, if it runs, is another component's
        engine::instance().forget_callers(); // Open MPI has unloaded the pml by now
        glue_stop();
    }
    return OPAL_SUCCESS;
}

bool chosen() { return glue_named("pml") || glue_named("btl"); }

extern "C" mca_btl_base_module_t **btl_smartint_init(int *count, bool, bool threads) noexcept;
// pml/smartint registers the engine's progress itself; for other pmls it is ours.
extern "C" int btl_smartint_progress() noexcept {
    engine &e = engine::instance();
    return e.hooks().pml_progresses ? 0 : e.progress();
}

} // namespace

module the_shared{};
module the_network{};

} // namespace smartint::btl

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers" // the rest is reserved, zero
extern "C" {
__attribute__((visibility("default"))) mca_btl_base_component_3_0_0_t mca_btl_smartint_component = {
    .btl_version =
        {
            MCA_BTL_BASE_VERSION_3_1_0,
            .mca_component_name = "smartint",
            .mca_component_major_version = SMARTINT_MAJOR_VERSION,
            .mca_component_minor_version = SMARTINT_MINOR_VERSION,
            .mca_component_release_version = SMARTINT_RELEASE_VERSION,
            .mca_open_component = smartint::btl::btl_smartint_open,
            .mca_close_component = smartint::btl::btl_smartint_close,
            .mca_register_component_params = smartint::btl::btl_smartint_register,
        },
    .btl_data = {.param_field = MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .btl_init = smartint::btl::btl_smartint_init,
    .btl_progress = nullptr,
};
}
#pragma GCC diagnostic pop

namespace smartint::btl {
namespace {

extern "C" int btl_smartint_register() noexcept { return glue_register(); }

extern "C" mca_btl_base_module_t **btl_smartint_init(int *count, bool, bool threads) noexcept {
    *count = 0;
    if (!chosen() || OPAL_SUCCESS != glue_start(threads)) {
        return nullptr;
    }
    if (OPAL_SUCCESS != glue_publish()) {
        return nullptr;
    }
    started = true;
    engine_hooks &hooks = engine::instance().hooks();
    hooks.active_message = on_message;
    mca_btl_smartint_component.btl_progress = btl_smartint_progress;
    fill_modules();
    auto **list = static_cast<mca_btl_base_module_t **>(std::malloc(2 * sizeof(mca_btl_base_module_t *)));
    if (nullptr == list) {
        return nullptr;
    }
    if (0 != engine::instance().settings().shared_memory) {
        list[(*count)++] = &the_shared.super;
    }
    if ("none" != engine::instance().settings().transport) { // opened later if it must be
        list[(*count)++] = &the_network.super;
    }
    return list;
}

} // namespace
} // namespace smartint::btl
