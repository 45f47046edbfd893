// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_mca_types.h"

#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

extern "C" {
#include "opal/datatype/opal_convertor.h"
#include "opal/datatype/opal_datatype_internal.h"
#include "opal/util/proc.h"
}

#include "common_smartint_engine.h"

namespace smartint {
namespace {

// The pieces of one element, in the order in which it is packed. False: there are more than `most` runs of them.
bool append_pieces(rma_layout &layout, const opal_datatype_t &type, std::size_t most_runs) {
    // Any address will do: nothing is read. Far enough from both ends for any displacement.
    auto *const base = reinterpret_cast<std::byte *>(std::uintptr_t{1} << 46);
    opal_convertor_t convertor;
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(opal_proc_local_get()->proc_convertor, &type, 1, base, 0, &convertor);
    constexpr std::uint32_t most = 64;
    bool complete = false;
    while (!complete && layout.runs().size() <= most_runs) {
        iovec pieces[most];
        std::uint32_t count = most;
        std::size_t bytes = 0;
        complete = 0 != opal_convertor_raw(&convertor, pieces, &count, &bytes);
        for (std::uint32_t i = 0; i < count; ++i) {
            layout.append(static_cast<std::byte *>(pieces[i].iov_base) - base, pieces[i].iov_len);
        }
        complete = complete || 0 == count;
    }
    opal_convertor_cleanup(&convertor);
    OBJ_DESTRUCT(&convertor);
    layout.fold();
    return complete;
}

// What the last types come to, as a program names the same few again and again, and to walk through a type's pieces
// takes longer than to copy them. Known by the whole of their descriptions: a type's address is another type's after
// MPI_Type_free, and a description says all that append_pieces() asks for.
class known_layouts {
public:
    static constexpr std::size_t most_runs = 2048;

    // One element's pieces. False: too many to be kept.
    bool find(const opal_datatype_t &type, rma_layout *layout) {
        const auto *words = reinterpret_cast<const std::byte *>(type.desc.desc);
        const std::size_t bytes = type.desc.used * sizeof(*type.desc.desc);
        if (bytes > most_description) {
            return false;
        }
        const std::unique_lock<std::mutex> hold =
            engine::instance().identity().threads ? std::unique_lock(lock_) : std::unique_lock<std::mutex>();
        for (const known &k : known_) {
            if (k.description.size() == bytes && 0 != bytes && 0 == std::memcmp(k.description.data(), words, bytes)) {
                *layout = k.layout;
                return k.kept;
            }
        }
        const bool whole = append_pieces(*layout, type, most_unfolded);
        known &oldest = known_[next_++ % known_.size()];
        oldest.description.assign(words, words + bytes);
        oldest.kept = whole && layout->runs().size() <= most_runs;
        oldest.layout = oldest.kept ? *layout : rma_layout();
        return oldest.kept;
    }

private:
    // Most take some hundred bytes each; types of so many pieces in no order as much as Open MPI has of them.
    static constexpr std::size_t most_description = 65536;
    // Before they are folded, 8 MiB of them: a description of one line may stand for any number.
    static constexpr std::size_t most_unfolded = 262144;

    struct known {
        std::vector<std::byte> description;
        rma_layout layout;
        bool kept = false;
    };
    std::mutex lock_; // of application threads
    std::array<known, 8> known_;
    unsigned next_ = 0;
};

// One element, into an empty layout. False: it has too many pieces to be kept.
bool element_of(const opal_datatype_t &type, rma_layout *layout) {
    static auto &known = *new known_layouts; // never destroyed: destructors of the program's may communicate
    if (opal_datatype_is_contiguous_memory_layout(&type, 1)) {
        layout->append(type.true_lb, type.size);
        return true;
    }
    return known.find(type, layout);
}

} // namespace

bool glue_short_layout_of(const opal_datatype_t &type, std::size_t count, rma_layout *layout) {
    const std::int64_t extent = type.ub - type.lb;
    *layout = rma_layout();
    if (0 == count || 0 == type.size) {
        return true;
    }
    if (!element_of(type, layout) || layout->unrolls_beyond(known_layouts::most_runs, count, extent)) {
        return false;
    }
    layout->repeat(count, extent);
    return true;
}

rma_layout glue_layout_of(const opal_datatype_t &type, std::size_t count) {
    rma_layout layout;
    if (0 == count || 0 == type.size) {
        return layout;
    }
    if (!element_of(type, &layout)) {
        layout = rma_layout();
        append_pieces(layout, type, SIZE_MAX);
    }
    layout.repeat(count, type.ub - type.lb);
    return layout;
}

} // namespace smartint
