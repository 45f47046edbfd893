// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What a fuzz target is given, taken from the front; and its way to say that something that must
// hold does not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace smartint::fuzz {

class input {
public:
    input(const std::uint8_t *data, std::size_t bytes) : at_(data), left_(bytes) {}
    bool empty() const { return 0 == left_; }
    std::size_t left() const { return left_; }

    // Zeroes once there is nothing left.
    template <class T> T take() {
        T t{};
        take_into(&t, sizeof(t));
        return t;
    }
    void take_into(void *to, std::size_t bytes) {
        const std::size_t n = std::min(bytes, left_);
        if (0 != n) {
            std::memcpy(to, at_, n);
            at_ += n;
            left_ -= n;
        }
    }
    std::uint8_t byte() { return take<std::uint8_t>(); }
    unsigned below(unsigned n) { return byte() % n; }
    bool flag() { return 0 != (byte() & 1); }
    std::string text(std::size_t most) {
        std::string s(std::min(most, left_), 0);
        take_into(s.data(), s.size());
        return s;
    }

    // A number of any size; those that mean something come often.
    std::uint64_t number() {
        static constexpr std::uint64_t known[] = {0,         1,    2,     63,         64,         65,
                                                  255,       4096, 8192,  16383,      16384,      65536,
                                                  1U << 31U, ~0U,  ~0ULL, 1ULL << 40, 1ULL << 62, 1ULL << 63};
        const std::uint8_t how = byte();
        if (how < 128) {
            return known[how % (sizeof(known) / sizeof(known[0]))];
        }
        return how < 192 ? byte() : take<std::uint64_t>();
    }

private:
    const std::uint8_t *at_;
    std::size_t left_;
};

#define MUST_HOLD(what)                                                                                                \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);                             \
            std::abort();                                                                                              \
        }                                                                                                              \
    } while (0)

// Where boards are made; the caller removes what is left of them.
inline const char *directory() {
    const char *d = std::getenv("SMARTINT_FUZZ_DIRECTORY");
    return nullptr == d ? "/dev/shm" : d;
}

} // namespace smartint::fuzz
