// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "pml_smartint_datatype.h"

#include <sys/uio.h>

#include <new>

#include "common_smartint_mca_types.h"

namespace smartint::pml {

bool layout_convertor::prepare_plain(const void *buf, std::size_t count, const ompi_datatype_t *datatype) {
    release();
    auto *p = new (&plain_) plain;
    by_ = by::runs;
    if (!glue_short_layout_of(datatype->super, count, &p->layout)) {
        release();
        return false;
    }
    p->cursor = p->before = rma_cursor(&p->layout);
    p->base = static_cast<std::byte *>(const_cast<void *>(buf));
    return true;
}

void layout_convertor::hold(ompi_datatype_t *datatype) {
    OBJ_CONSTRUCT(&convertor_, opal_convertor_t);
    OMPI_DATATYPE_RETAIN(datatype);
    datatype_ = datatype;
    by_ = by::convertor;
}

bool layout_convertor::prepare_send(const void *buf, std::size_t count, ompi_datatype_t *datatype) {
    if (prepare_plain(buf, count, datatype)) {
        return true;
    }
    hold(datatype);
    opal_convertor_copy_and_prepare_for_send(ompi_proc_local()->super.proc_convertor, &datatype->super, count, buf, 0,
                                             &convertor_);
    return false;
}

bool layout_convertor::prepare_receive(void *buf, std::size_t count, ompi_datatype_t *datatype) {
    if (prepare_plain(buf, count, datatype)) {
        return true;
    }
    hold(datatype);
    opal_convertor_copy_and_prepare_for_recv(ompi_proc_local()->super.proc_convertor, &datatype->super, count, buf, 0,
                                             &convertor_);
    return false;
}

void layout_convertor::release() {
    switch (by_) {
    case by::nothing:
        return;
    case by::runs:
        plain_.~plain();
        break;
    case by::convertor:
        opal_convertor_cleanup(&convertor_);
        OBJ_DESTRUCT(&convertor_);
        OMPI_DATATYPE_RELEASE(datatype_);
    }
    by_ = by::nothing;
}

rma_cursor &layout_convertor::move_to(std::uint64_t at) {
    if (at == plain_.before.done()) {
        plain_.cursor = plain_.before;
    } else if (at != plain_.cursor.done()) {
        plain_.cursor = rma_cursor(&plain_.layout);
        plain_.cursor.skip(at);
    }
    plain_.before = plain_.cursor;
    return plain_.cursor;
}

std::uint64_t layout_convertor::pack(std::uint64_t at, void *to, std::uint64_t bytes) {
    if (by::runs == by_) {
        rma_gather(plain_.base, move_to(at), static_cast<std::byte *>(to), bytes);
        return bytes;
    }
    std::size_t position = at;
    opal_convertor_set_position(&convertor_, &position);
    auto *p = static_cast<std::byte *>(to);
    std::uint64_t packed = 0;
    while (bytes > packed) {
        iovec iov{p + packed, bytes - packed};
        std::uint32_t count = 1;
        std::size_t moved = bytes - packed;
        opal_convertor_pack(&convertor_, &iov, &count, &moved);
        if (0 == moved) {
            break;
        }
        packed += moved;
    }
    return packed;
}

void layout_convertor::unpack(std::uint64_t at, const void *from, std::uint64_t bytes) {
    if (by::runs == by_) {
        rma_scatter(plain_.base, move_to(at), static_cast<const std::byte *>(from), bytes);
        return;
    }
    std::size_t position = at;
    opal_convertor_set_position(&convertor_, &position);
    auto *p = static_cast<std::byte *>(const_cast<void *>(from));
    while (bytes > 0) {
        iovec iov{p, bytes};
        std::uint32_t count = 1;
        std::size_t moved = bytes;
        opal_convertor_unpack(&convertor_, &iov, &count, &moved);
        if (0 == moved) {
            break;
        }
        p += moved;
        bytes -= moved;
    }
}

} // namespace smartint::pml
