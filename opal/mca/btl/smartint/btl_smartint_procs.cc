// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Which processes each module reaches.
#include "btl_smartint.h"

#include <algorithm>

namespace smartint::btl {

int add_procs(mca_btl_base_module_t *btl, std::size_t count, opal_proc_t **procs, mca_btl_base_endpoint_t **endpoints,
              opal_bitmap_t *reachable) noexcept {
    auto &us = *reinterpret_cast<module *>(btl);
    const bool shared = us.shared;
    engine &e = engine::instance();
    e.enter();
    glue_join_board();
    if (!shared) { // under the pml twice, which does no harm
        glue_expect_peers(static_cast<std::size_t>(std::count_if(procs, procs + count, [](const opal_proc_t *proc) {
            return proc->proc_name.jobid != OPAL_PROC_MY_NAME.jobid;
        })));
    }
    for (std::size_t i = 0; i < count; ++i) {
        endpoints[i] = nullptr;
        const opal_process_name_t name = procs[i]->proc_name;
        const bool self = 0 == opal_compare_proc(name, OPAL_PROC_MY_NAME);
        modex m;
        const bool pointless =
            !shared && name.jobid == OPAL_PROC_MY_NAME.jobid && !e.net().is_open(); // nothing to look up
        if (self || pointless || procs[i]->proc_arch != opal_proc_local_get()->proc_arch || !glue_read(name, &m)) {
            continue;
        }
        endpoint *ep = 0 != e.settings().shared_memory ? glue_reach_shared(name, m) : nullptr;
        if (!shared) {
            ep = nullptr == ep ? glue_reach_network(name, m) : nullptr;
        }
        if (nullptr != ep) {
            lower_limits(us, *ep);
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
int del_procs(mca_btl_base_module_t *, std::size_t, opal_proc_t **, mca_btl_base_endpoint_t **) noexcept {
    return OPAL_SUCCESS;
}

} // namespace smartint::btl
