// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Active messages of the BTL's users.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "btl_smartint.h"

namespace smartint::btl {
namespace {

// Small descriptors are kept for reuse; larger ones go back to malloc.
constexpr std::size_t small_room = 4096 + 256;
auto &spare = *new std::vector<fragment *>; // never destroyed: destructors of the program's may communicate

fragment *obtain(module *m, mca_btl_base_endpoint_t *peer, std::size_t room, std::uint32_t flags) {
    fragment *f = nullptr;
    engine &e = engine::instance();
    e.enter();
    if (room <= small_room && !spare.empty()) {
        f = spare.back();
        spare.pop_back();
    }
    e.leave();
    if (nullptr == f) {
        const std::size_t bytes = std::max(room, small_room);
        f = static_cast<fragment *>(std::malloc(sizeof(fragment) + bytes));
        if (nullptr == f) {
            return nullptr;
        }
        f->room = bytes;
    }
    const std::size_t had = f->room;
    std::memset(static_cast<void *>(f), 0, sizeof(fragment));
    f->room = had;
    f->owner = m;
    f->peer = peer;
    f->super.des_segments = f->segments;
    f->super.des_segment_count = 1;
    f->super.des_flags = flags;
    f->super.order = MCA_BTL_NO_ORDER;
    f->segments[0].seg_addr.pval = f->data();
    f->segments[0].seg_len = 0;
    return f;
}

// Completion of a queued message: runs in the application thread.
void sent_later(void *arg, bool ok) {
    auto *f = static_cast<fragment *>(arg);
    const bool owned = 0 != (f->super.des_flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    if (nullptr != f->super.des_cbfunc) {
        const gate::opened meanwhile(engine::instance().the_gate());
        f->super.des_cbfunc(&f->owner->super, f->peer, &f->super, ok ? OPAL_SUCCESS : OPAL_ERR_UNREACH);
    }
    if (owned) {
        free_descriptor(&f->owner->super, &f->super);
    }
}

} // namespace

mca_btl_base_descriptor_t *alloc(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer, std::uint8_t,
                                 std::size_t size, std::uint32_t flags) noexcept {
    if (size > btl->btl_max_send_size) {
        size = btl->btl_max_send_size;
    }
    fragment *f = obtain(reinterpret_cast<module *>(btl), peer, size, flags);
    if (nullptr == f) {
        return nullptr;
    }
    f->segments[0].seg_len = size;
    return &f->super;
}

int free_descriptor(mca_btl_base_module_t *, mca_btl_base_descriptor_t *descriptor) noexcept {
    auto *f = reinterpret_cast<fragment *>(descriptor);
    if (small_room == f->room) {
        engine &e = engine::instance();
        e.enter();
        spare.push_back(f);
        e.leave();
    } else {
        std::free(f);
    }
    return OPAL_SUCCESS;
}

mca_btl_base_descriptor_t *prepare_src(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer,
                                       opal_convertor_t *convertor, std::uint8_t, std::size_t reserve,
                                       std::size_t *size, std::uint32_t flags) noexcept {
    if (*size + reserve > btl->btl_max_send_size) {
        *size = btl->btl_max_send_size - reserve;
    }
    const bool packs = 0 != opal_convertor_need_buffers(convertor);
    fragment *f = obtain(reinterpret_cast<module *>(btl), peer, packs ? reserve + *size : reserve, flags);
    if (nullptr == f) {
        return nullptr;
    }
    iovec iov{};
    std::uint32_t count = 1;
    iov.iov_len = *size;
    iov.iov_base = packs ? f->data() + reserve : nullptr;
    if (opal_convertor_pack(convertor, &iov, &count, size) < 0) {
        free_descriptor(btl, &f->super);
        return nullptr;
    }
    if (packs) {
        f->segments[0].seg_len = reserve + *size;
    } else {
        f->segments[0].seg_len = reserve;
        f->segments[1].seg_addr.pval = iov.iov_base;
        f->segments[1].seg_len = *size;
        f->super.des_segment_count = 2;
    }
    return &f->super;
}

int send(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer, mca_btl_base_descriptor_t *descriptor,
         mca_btl_base_tag_t tag) noexcept {
    auto *f = reinterpret_cast<fragment *>(descriptor);
    engine &e = engine::instance();
    f->owner = reinterpret_cast<module *>(btl);
    f->peer = peer;
    const std::size_t first = f->segments[0].seg_len;
    const std::size_t second = f->super.des_segment_count > 1 ? f->segments[1].seg_len : 0;
    const bool own = 0 != (f->super.des_flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    // The wire takes one piece: two segments are joined, and the join is copied only if the message must wait.
    std::unique_ptr<std::byte[]> joined;
    const void *data = f->segments[0].seg_addr.pval;
    if (0 != second) {
        joined = std::make_unique_for_overwrite<std::byte[]>(first + second);
        std::memcpy(joined.get(), f->segments[0].seg_addr.pval, first);
        std::memcpy(joined.get() + first, f->segments[1].seg_addr.pval, second);
        data = joined.get();
    }
    f->head = {e.identity().name, tag, 0};
    e.enter();
    const auto whole = static_cast<std::uint32_t>(first + second);
    const auto r = e.active_message(peer_of(peer), {wire::am, f->head, data, whole});
    if (engine::am_result::full == r) {
        f->super.des_flags |= MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
        // One segment stays where it is until it is sent; the join is another message's soon.
        e.queue_message(peer_of(peer), {wire::am, f->head, data, whole}, sent_later, f, 0 != second);
        e.leave();
        return OPAL_SUCCESS;
    }
    e.leave();
    if (engine::am_result::broken == r) {
        return OPAL_ERR_UNREACH;
    }
    if (0 != (f->super.des_flags & MCA_BTL_DES_SEND_ALWAYS_CALLBACK) && nullptr != f->super.des_cbfunc) {
        f->super.des_cbfunc(btl, peer, &f->super, OPAL_SUCCESS);
    }
    if (own) {
        free_descriptor(btl, &f->super);
    }
    return 1; // on its way, and no callback unless it was asked for
}

int sendi(mca_btl_base_module_t *btl, mca_btl_base_endpoint_t *peer, opal_convertor_t *convertor, void *header,
          std::size_t header_size, std::size_t payload_size, std::uint8_t order, std::uint32_t flags,
          mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor) noexcept {
    engine &e = engine::instance();
    const std::size_t size = header_size + payload_size;
    if (size <= btl->btl_eager_limit) {
        alignas(16) std::byte small[512];
        std::unique_ptr<std::byte[]> large;
        std::byte *buffer = small;
        if (size > sizeof(small)) {
            large = std::make_unique_for_overwrite<std::byte[]>(size);
            buffer = large.get();
        }
        std::memcpy(buffer, header, header_size);
        bool packed = true;
        std::size_t position = 0;
        if (0 != payload_size) {
            position = convertor->bConverted;
            iovec iov{};
            std::uint32_t count = 1;
            std::size_t length = payload_size;
            iov.iov_base = buffer + header_size;
            iov.iov_len = payload_size;
            packed = opal_convertor_pack(convertor, &iov, &count, &length) >= 0 && length == payload_size;
        }
        if (packed) {
            const wire::am_header head{e.identity().name, tag, 0};
            e.enter();
            const auto r = e.active_message(peer_of(peer), {wire::am, head, buffer, static_cast<std::uint32_t>(size)});
            e.leave();
            if (engine::am_result::sent == r) {
                return OPAL_SUCCESS;
            }
        }
        if (0 != payload_size) {
            opal_convertor_set_position(convertor, &position);
        }
    }
    if (nullptr != descriptor) {
        *descriptor = alloc(btl, peer, order, size, flags);
    }
    return OPAL_ERR_RESOURCE_BUSY;
}

// From the engine, in the application thread.
void on_message(endpoint *from, std::uint32_t type, const std::byte *data, std::uint32_t bytes) noexcept {
    if (wire::atomic == type) {
        serve_atomic(from, data, bytes);
        return;
    }
    if (wire::atomic_answer == type) {
        finish_atomic(data, bytes);
        return;
    }
    wire::am_header head{};
    if (bytes >= sizeof(head)) {
        std::memcpy(&head, data, sizeof(head));
    }
    if (bytes < sizeof(head) || head.tag >= MCA_BTL_TAG_MAX ||
        nullptr == mca_btl_base_active_message_trigger[head.tag].cbfunc) {
        engine::instance().refuse();
        return;
    }
    const auto &trigger = mca_btl_base_active_message_trigger[head.tag];
    mca_btl_base_segment_t segment{};
    segment.seg_addr.pval = const_cast<std::byte *>(data + sizeof(head));
    segment.seg_len = bytes - sizeof(head);
    mca_btl_base_descriptor_t d{};
    d.des_segments = &segment;
    d.des_segment_count = 1;
    const bool shared = nullptr != from && route::shared == from->way;
    // ob1 adds a process that it has not met under a lock which another thread may hold in our add_procs.
    const gate::opened meanwhile(engine::instance().the_gate());
    trigger.cbfunc(shared ? &the_shared.super : &the_network.super, static_cast<mca_btl_base_tag_t>(head.tag), &d,
                   trigger.cbdata);
}

} // namespace smartint::btl
