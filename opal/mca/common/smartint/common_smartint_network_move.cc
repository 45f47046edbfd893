// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Messages, reads and writes, and the memory they touch.
#include <cerrno>
#include <cstring>
#include <string>

#include "common_smartint_log.h"
#include "common_smartint_network_impl.h"

namespace smartint {
namespace {

struct packed {
    std::uint64_t word;
    const void *header;
    const void *payload;
    std::uint32_t header_bytes;
    std::uint32_t payload_bytes;
};

std::size_t pack_message(void *dest, void *arg) {
    const auto *p = static_cast<const packed *>(arg);
    auto *d = static_cast<std::byte *>(dest);
    std::memcpy(d, &p->word, sizeof(p->word));
    std::memcpy(d + sizeof(p->word), p->header, p->header_bytes);
    if (0 != p->payload_bytes) {
        std::memcpy(d + sizeof(p->word) + p->header_bytes, p->payload, p->payload_bytes);
    }
    return sizeof(p->word) + p->header_bytes + p->payload_bytes;
}

void transfer_done(uct_completion_t *self) {
    // Where it is a write that finds a tcp connection broken, UCX 1.13 tells of a message that was half out once more,
    // as soon as this returns: whom that concerns is told once.
    self->count = 2;
    auto *c = reinterpret_cast<network_completion *>(self);
    c->done(c->arg, UCS_OK == self->status);
}

uct_completion_t *make_completion(network_completion *c) {
    static_assert(sizeof(c->storage) >= sizeof(uct_completion_t) && 0 == offsetof(network_completion, storage),
                  "transfer_done casts between the two");
    auto *completion = new (c->storage) uct_completion_t{};
    completion->func = transfer_done;
    completion->count = 1;
    completion->status = UCS_OK;
    return completion;
}

network_connection *of(void *connection) { return static_cast<network_connection *>(connection); }

network::result posted(network_connection *over, ucs_status_t status, bool *queued) {
    *queued = UCS_INPROGRESS == status;
    if (UCS_OK == status || UCS_INPROGRESS == status) {
        over->used = true;
        return network::result::done;
    }
    return UCS_ERR_NO_RESOURCE == status ? network::result::again : network::result::broken;
}

uct_iov_t piece(const std::byte *local, const network_memory *m, std::uint64_t bytes) {
    uct_iov_t iov{};
    iov.buffer = const_cast<std::byte *>(local);
    iov.length = bytes;
    iov.count = 1;
    iov.memh = nullptr == m || nullptr == m->handle ? UCT_MEM_HANDLE_NULL : m->handle;
    return iov;
}

uct_rkey_bundle_t *bundle(network_key *k) {
    static_assert(sizeof(k->storage) >= sizeof(uct_rkey_bundle_t));
    return reinterpret_cast<uct_rkey_bundle_t *>(k->storage);
}

uct_rkey_t key_of(const network_key *k) {
    return nullptr == k || !k->valid ? UCT_INVALID_RKEY : reinterpret_cast<const uct_rkey_bundle_t *>(k->storage)->rkey;
}

} // namespace

bool network::pin(const void *address, std::uint64_t bytes, network_memory *out) {
    const impl &n = *impl_;
    if (n.md_attr.rkey_packed_size > network_memory::max_key) {
        return false;
    }
    // The memory domain keeps registrations for the next time, and forgets what is unmapped.
    uct_mem_h handle = nullptr;
    errno = 0;
    if (UCS_OK != uct.md_mem_reg(n.md, const_cast<void *>(address), bytes,
                                 UCT_MD_MEM_ACCESS_RMA | UCT_MD_MEM_FLAG_HIDE_ERRORS, &handle)) {
        // The limit is the administrator's, and worth a word; that memory can't be written, or is a file's, is the
        // program's.
        if (ENOMEM == errno || EAGAIN == errno || EPERM == errno) {
            tell(topic::not_registered, std::to_string(bytes).c_str(), std::strerror(errno));
        }
        return false;
    }
    if (UCS_OK != uct.md_mkey_pack(n.md, handle, out->key)) {
        uct.md_mem_dereg(n.md, handle);
        return false;
    }
    out->handle = handle;
    out->key_bytes = static_cast<std::uint32_t>(n.md_attr.rkey_packed_size);
    return true;
}

void network::unpin(network_memory *m) {
    if (nullptr != m->handle && nullptr != impl_) {
        uct.md_mem_dereg(impl_->md, m->handle);
    }
    m->handle = nullptr;
    m->key_bytes = 0;
}

bool network::unpack(const std::byte *key, std::uint32_t bytes, network_key *out) {
    if (!caps_.registers || bytes != impl_->md_attr.rkey_packed_size ||
        UCS_OK != uct.rkey_unpack(impl_->component, key, bundle(out))) {
        return false;
    }
    out->valid = true;
    return true;
}

void network::release(network_key *k) {
    if (k->valid && nullptr != impl_) {
        uct.rkey_release(impl_->component, bundle(k));
    }
    k->valid = false;
}

network::result network::send(void *connection, std::uint64_t word, const void *header, std::uint32_t header_bytes,
                              const void *payload, std::uint32_t payload_bytes) {
    packed p{word, header, payload, header_bytes, payload_bytes};
    if (__builtin_expect(!of(connection)->ready, 0)) {
        return result::again;
    }
    const ssize_t n = uct_ep_am_bcopy(of(connection)->ep, impl::am_id, pack_message, &p, 0);
    if (n >= 0) {
        of(connection)->used = true;
        return result::done;
    }
    return UCS_ERR_NO_RESOURCE == n ? result::again : result::broken;
}

network::result network::send_in_place(void *connection, std::uint64_t word, const void *header,
                                       std::uint32_t header_bytes, const std::byte *payload,
                                       std::uint32_t payload_bytes, network_completion *c, bool *queued) {
    std::byte whole[sizeof(word) + most_header];
    const std::uint32_t whole_bytes = static_cast<std::uint32_t>(sizeof(word)) + header_bytes;
    *queued = false;
    if (whole_bytes > sizeof(whole)) {
        return result::broken;
    }
    if (!of(connection)->ready) {
        return result::again;
    }
    std::memcpy(whole, &word, sizeof(word));
    std::memcpy(whole + sizeof(word), header, header_bytes);
    const uct_iov_t iov = piece(payload, nullptr, payload_bytes);
    const ucs_status_t status =
        uct_ep_am_zcopy(of(connection)->ep, impl::am_id, whole, whole_bytes, &iov, 1, 0, make_completion(c));
    return posted(of(connection), status, queued);
}

network::result network::write(void *connection, const std::byte *local, const network_memory *m, std::uint64_t bytes,
                               std::uint64_t remote, const network_key *k, network_completion *c, bool *queued) {
    *queued = false;
    if (!of(connection)->ready) {
        return result::again;
    }
    const uct_iov_t iov = piece(local, m, bytes);
    return posted(of(connection), uct_ep_put_zcopy(of(connection)->ep, &iov, 1, remote, key_of(k), make_completion(c)),
                  queued);
}

network::result network::read(void *connection, std::byte *local, const network_memory *m, std::uint64_t bytes,
                              std::uint64_t remote, const network_key *k, network_completion *c, bool *queued) {
    *queued = false;
    if (!of(connection)->ready) {
        return result::again;
    }
    const uct_iov_t iov = piece(local, m, bytes);
    return posted(of(connection), uct_ep_get_zcopy(of(connection)->ep, &iov, 1, remote, key_of(k), make_completion(c)),
                  queued);
}

network::result network::flush(void *connection, network_completion *c, bool *queued) {
    *queued = false;
    if (!of(connection)->ready) {
        return result::again;
    }
    return posted(of(connection), uct_ep_flush(of(connection)->ep, UCT_FLUSH_FLAG_LOCAL, make_completion(c)), queued);
}

bool network::unsent(void *connection) const {
    if (unused(connection) || !of(connection)->ready) {
        return false;
    }
    uct_ep_h ep = of(connection)->ep;
    if (impl_->stream) {
        // Not a flush, for which UCX 1.13 sends the peer a write of nothing and waits for an answer. What can be put
        // off until there is room finds none.
        uct_pending_req_t r{};
        const bool full = UCS_OK == uct_ep_pending_add(ep, &r, 0);
        if (full) {
            uct_ep_pending_purge(
                ep, [](uct_pending_req_t *, void *) {}, nullptr);
        }
        return full;
    }
    const ucs_status_t status = uct_ep_flush(ep, UCT_FLUSH_FLAG_LOCAL, nullptr);
    return UCS_INPROGRESS == status || UCS_ERR_NO_RESOURCE == status;
}

} // namespace smartint
