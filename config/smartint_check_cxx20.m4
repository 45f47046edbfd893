# SPDX-License-Identifier: BSD-3-Clause
# SPDX-FileCopyrightText: 2026 The smartint authors

# SMARTINT_CHECK_CXX20
# Finds the option that makes the C++ compiler take the C++20 that the sources use.
# Sets and substitutes SMARTINT_CXX_STD; refuses a compiler that cannot.
AC_DEFUN([SMARTINT_CHECK_CXX20], [
    AC_LANG_PUSH([C++])
    AC_CACHE_CHECK([for the option that selects C++20], [smartint_cv_cxx_std], [
        smartint_cv_cxx_std=none
        smartint_save_CXXFLAGS="$CXXFLAGS"
        for smartint_std in -std=c++20 -std=c++2a; do
            CXXFLAGS="$smartint_save_CXXFLAGS $smartint_std"
            AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#include <atomic>
#include <bit>
#include <concepts>
#include <cstdint>
#include <span>
struct pair { int a; int b; };
template <std::integral T> constexpr T twice(T v) { return v + v; }
struct alignas(64) line { std::atomic<std::uint64_t> v{0}; };
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(sizeof(line) == 64);
]], [[
    constexpr pair p{.a = 1, .b = 2};
    std::uint64_t word = 0;
    std::atomic_ref<std::uint64_t>(word).fetch_add(twice(p.b));
    std::span<std::uint64_t> s(&word, 1);
    if (s.empty()) [[unlikely]] { return std::popcount(s[0]); }
    return 0;
]])], [smartint_cv_cxx_std=$smartint_std])
            test "$smartint_cv_cxx_std" = none || break
        done
        CXXFLAGS="$smartint_save_CXXFLAGS"
    ])
    AC_LANG_POP([C++])
    AS_IF([test "$smartint_cv_cxx_std" = none],
          [AC_MSG_ERROR([$CXX does not compile C++20 (concepts, std::span, std::atomic_ref): use g++ 11 or clang 14 and later, for example CXX=g++-12])])
    SMARTINT_CXX_STD=$smartint_cv_cxx_std
    AC_SUBST([SMARTINT_CXX_STD])
])
