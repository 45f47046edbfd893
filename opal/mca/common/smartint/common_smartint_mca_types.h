// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Open MPI's datatypes as plain runs of bytes, which any thread may walk through.
#pragma once

#include <cstddef>

#include "common_smartint_rma_runs.h"

extern "C" {
#include "opal/datatype/opal_datatype.h"
}

namespace smartint {

// Where the bytes of `count` elements lie, from their buffer's address, in the order in which they are packed. Any
// application thread.
rma_layout glue_layout_of(const opal_datatype_t &type, std::size_t count);
// The same for types that come to some thousand runs at most. False: to so many that it would have to be found out anew
// each time.
bool glue_short_layout_of(const opal_datatype_t &type, std::size_t count, rma_layout *layout);

} // namespace smartint
