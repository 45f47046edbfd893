// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "pml_smartint_datatype.h"

#include <sys/uio.h>

namespace smartint::pml {

void layout_convertor::prepare(ompi_datatype_t *datatype) {
    release();
    OBJ_CONSTRUCT(&convertor_, opal_convertor_t);
    OMPI_DATATYPE_RETAIN(datatype);
    datatype_ = datatype;
    ready_ = true;
}

void layout_convertor::prepare_send(const void *buf, std::size_t count, ompi_datatype_t *datatype) {
    prepare(datatype);
    opal_convertor_copy_and_prepare_for_send(ompi_proc_local()->super.proc_convertor, &datatype->super, count, buf, 0,
                                             &convertor_);
}

void layout_convertor::prepare_receive(void *buf, std::size_t count, ompi_datatype_t *datatype) {
    prepare(datatype);
    opal_convertor_copy_and_prepare_for_recv(ompi_proc_local()->super.proc_convertor, &datatype->super, count, buf, 0,
                                             &convertor_);
}

void layout_convertor::release() {
    if (ready_) {
        opal_convertor_cleanup(&convertor_);
        OBJ_DESTRUCT(&convertor_);
        OMPI_DATATYPE_RELEASE(datatype_);
        ready_ = false;
    }
}

std::uint64_t layout_convertor::pack(std::uint64_t at, void *to, std::uint64_t bytes) {
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
