// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// UCX's functions, loaded with UCX when a network is first opened: a process that opens none has nothing of UCX's,
// neither its memory nor its threads.
#pragma once

#include <string>

extern "C" {
#include <uct/api/uct.h>
// exported by libucs, but its header is not installed by distributions
ucs_status_t ucs_async_context_create(ucs_async_mode_t mode, ucs_async_context_t **async_p);
void ucs_async_context_destroy(ucs_async_context_t *async);
}

// EACH(library, function): what its headers define inline needs no loading.
#define SMARTINT_UCT_FUNCTIONS(EACH)                                                                                   \
    EACH(uct, component_query)                                                                                         \
    EACH(uct, config_modify)                                                                                           \
    EACH(uct, config_release)                                                                                          \
    EACH(uct, ep_connect_to_ep)                                                                                        \
    EACH(uct, ep_create)                                                                                               \
    EACH(uct, ep_destroy)                                                                                              \
    EACH(uct, ep_get_address)                                                                                          \
    EACH(uct, iface_close)                                                                                             \
    EACH(uct, iface_event_arm)                                                                                         \
    EACH(uct, iface_event_fd_get)                                                                                      \
    EACH(uct, iface_get_address)                                                                                       \
    EACH(uct, iface_get_device_address)                                                                                \
    EACH(uct, iface_is_reachable)                                                                                      \
    EACH(uct, iface_open)                                                                                              \
    EACH(uct, iface_query)                                                                                             \
    EACH(uct, iface_set_am_handler)                                                                                    \
    EACH(uct, md_close)                                                                                                \
    EACH(uct, md_config_read)                                                                                          \
    EACH(uct, md_iface_config_read)                                                                                    \
    EACH(uct, md_mem_dereg)                                                                                            \
    EACH(uct, md_mem_reg)                                                                                              \
    EACH(uct, md_mkey_pack)                                                                                            \
    EACH(uct, md_open)                                                                                                 \
    EACH(uct, md_query)                                                                                                \
    EACH(uct, md_query_tl_resources)                                                                                   \
    EACH(uct, query_components)                                                                                        \
    EACH(uct, release_component_list)                                                                                  \
    EACH(uct, release_tl_resource_list)                                                                                \
    EACH(uct, rkey_release)                                                                                            \
    EACH(uct, rkey_unpack)                                                                                             \
    EACH(uct, worker_create)                                                                                           \
    EACH(uct, worker_destroy)                                                                                          \
    EACH(ucs, async_context_create)                                                                                    \
    EACH(ucs, async_context_destroy)

namespace smartint {

struct uct_functions {
#define SMARTINT_EACH(library, function) decltype(&::library##_##function) function = nullptr;
    SMARTINT_UCT_FUNCTIONS(SMARTINT_EACH)
#undef SMARTINT_EACH
};

// Filled by load_uct(), and never changed.
extern uct_functions uct;

// Empty, or why there is no UCX, for the user. The first call loads it, for good; any thread. Handlers of signals stay
// the application's: UCX puts up its own as it is loaded.
const std::string &load_uct();
// Whether the library's queue of what a worker does in progress, empty as of a new one, is laid out as the headers have
// it: uct_worker_progress() is theirs, and walks through it. It changed in some UCX 1.x after 1.13.
bool is_laid_out_alike(const ucs_callbackq_t &empty);
// As load_uct(), for a library of these names, the first that can be loaded.
std::string load_uct(const char *name, const char *other, uct_functions *out);

} // namespace smartint
