// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Parameters as variables of Open MPI's. Application thread only.
#pragma once

#include "common_smartint_params.h"

namespace smartint {

// Registers those that are not there, whenever it is asked: the library stays loaded when a component is closed, Open
// MPI's table of variables does not stay. Each has its name under the project and under the three components, whichever
// of these is read first: the BTL starts the engine before the pml and osc are looked for.
void register_params();

// Their values now.
params current_params();

// check_params of these, and before that what Open MPI makes a number of without a word: what was written has to be
// one.
bool check_given_params(std::string *name, std::string *value, std::string *remedy);

} // namespace smartint
