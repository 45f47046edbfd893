// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_strategy.h"

namespace smartint {

std::unique_ptr<strategy> make_strategy(strategy_kind k) {
    switch (k) {
    case strategy_kind::none:
        return make_none();
    case strategy_kind::poll:
        return make_poll();
    case strategy_kind::interrupt:
        return make_interrupt();
    case strategy_kind::helper:
        break;
    }
    return make_helper();
}

} // namespace smartint
