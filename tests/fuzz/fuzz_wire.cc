// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Fuzz target: messages as they come out of rings and the network, at an engine with receives and
// sends in all states. It must not crash, hang, touch a byte that is not its own, complete an
// operation twice, or keep more than it was sent.
#include "fuzz_engine.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t bytes) {
    using namespace smartint::fuzz;
    reset_system();
    input in(data, bytes);
    victim v(in);
    while (!in.empty()) {
        if (in.flag()) {
            v.deliver(in);
        } else {
            v.step(in);
        }
        v.check();
    }
    return 0;
}
