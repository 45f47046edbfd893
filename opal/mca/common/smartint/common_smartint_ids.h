// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Names of operations on the wire: index and generation, never an address. What comes back
// from a peer is looked up, and an old or invented one finds nothing.
#pragma once

#include <cstdint>
#include <vector>

namespace smartint {

template <class T> class id_table {
public:
    std::uint64_t add(T *p) {
        std::uint32_t i;
        if (free_ != end) {
            i = free_;
            free_ = slots_[i].next;
        } else {
            i = static_cast<std::uint32_t>(slots_.size());
            slots_.push_back({});
        }
        slots_[i].p = p;
        return static_cast<std::uint64_t>(slots_[i].generation) << 32 | i;
    }

    T *find(std::uint64_t id) const {
        const auto i = static_cast<std::uint32_t>(id);
        if (i >= slots_.size() || slots_[i].generation != id >> 32) {
            return nullptr;
        }
        return slots_[i].p;
    }

    void remove(std::uint64_t id) {
        if (nullptr == find(id)) {
            return;
        }
        slot &s = slots_[static_cast<std::uint32_t>(id)];
        s.p = nullptr;
        s.generation = 0xffffffffU == s.generation ? 1 : s.generation + 1;
        s.next = free_;
        free_ = static_cast<std::uint32_t>(id);
    }

    // f may remove the entry it is given.
    template <class F> void each(F f) {
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            if (nullptr != slots_[i].p) {
                f(slots_[i].p);
            }
        }
    }

private:
    static constexpr std::uint32_t end = 0xffffffffU;
    struct slot {
        T *p = nullptr;
        std::uint32_t generation = 1; // 0 is never a valid id
        std::uint32_t next = end;
    };
    std::vector<slot> slots_;
    std::uint32_t free_ = end;
};

} // namespace smartint
