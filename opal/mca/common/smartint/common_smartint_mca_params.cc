// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_mca_params.h"

#include <smartint/ompi_glue.h>

#include <cstdlib>
#include <fstream>

extern "C" {
#include "opal/constants.h"
#include "opal/mca/base/mca_base_var.h"
}

namespace smartint {
namespace {

struct variables {
#define SMARTINT_STRING(name, def, level, help) const char *name = def;
#define SMARTINT_NUMBER(name, def, lowest, highest, level, help) unsigned name = def;
#include "common_smartint_params.def"
#undef SMARTINT_STRING
#undef SMARTINT_NUMBER
};

variables &values() {
    static auto *v = new variables;
    return *v;
}

struct component_name {
    const char *project, *framework;
};
constexpr component_name components[] = {{"opal", "btl"}, {"ompi", "pml"}, {"ompi", "osc"}};

// One that is there stays as it is: registered anew it would forget what its other names have said.
void register_variable(const char *name, const char *help, mca_base_var_type_t type, int level, void *storage) {
    int index = mca_base_var_find("opal", "smartint", nullptr, name);
    if (index < 0) {
        index = mca_base_var_register(
            "opal", "smartint", nullptr, name, help, type, nullptr, 0, static_cast<mca_base_var_flag_t>(0),
            static_cast<mca_base_var_info_lvl_t>(level - 1), MCA_BASE_VAR_SCOPE_LOCAL, storage);
    }
    for (const component_name &c : components) {
        if (index >= 0 && mca_base_var_find(c.project, c.framework, "smartint", name) < 0) {
            mca_base_var_register_synonym(index, c.project, c.framework, "smartint", name,
                                          static_cast<mca_base_var_syn_flag_t>(0));
        }
    }
}

std::string trimmed(const std::string &s, const char *what) {
    const auto first = s.find_first_not_of(what);
    return std::string::npos == first ? std::string() : s.substr(first, s.find_last_not_of(what) - first + 1);
}

// The last value that a file of parameters gives to this name. False: none.
bool in_file(const char *file, const std::string &name, std::string *value) {
    std::ifstream in(file);
    std::string line;
    bool found = false;
    while (std::getline(in, line)) {
        const auto equals = line.find('=');
        if (std::string::npos != equals && name == trimmed(line.substr(0, equals), " \t")) {
            *value = trimmed(line.substr(equals + 1), " \t\r\"'");
            found = true;
        }
    }
    return found;
}

// What was written for a variable under each of its names, in the environment and, if its value is from there, in a
// file: whether all of it are numbers in range. An empty value is none. *value: the first that is not one.
bool written_within(const char *parameter, std::uint64_t lowest, std::uint64_t highest, std::string *value) {
    std::string names[1 + std::size(components)] = {std::string("smartint_") + parameter};
    for (std::size_t i = 0; i < std::size(components); ++i) {
        names[i + 1] = std::string(components[i].framework) + "_" + names[0];
    }
    mca_base_var_source_t source = MCA_BASE_VAR_SOURCE_DEFAULT;
    const char *file = nullptr;
    const int index = mca_base_var_find("opal", "smartint", nullptr, parameter);
    if (index < 0 || OPAL_SUCCESS != mca_base_var_get_value(index, nullptr, &source, &file) ||
        MCA_BASE_VAR_SOURCE_SET == source) { // a tool's call has numbers only
        return true;
    }
    const bool by_file = MCA_BASE_VAR_SOURCE_FILE == source || MCA_BASE_VAR_SOURCE_OVERRIDE == source;
    for (const std::string &name : names) {
        if (const char *text = std::getenv(("OMPI_MCA_" + name).c_str()); nullptr != text) {
            *value = trimmed(text, " \t");
            if (!number_within(*value, lowest, highest)) {
                return false;
            }
        }
        if (by_file && nullptr != file && in_file(file, name, value) && !number_within(*value, lowest, highest)) {
            return false;
        }
    }
    return true;
}

} // namespace

void register_params() {
    if (mca_base_var_find("opal", "smartint", nullptr, "progress") < 0) {
        values() = variables{}; // a tool's MPI_T_finalize takes what there was along
    }
#define SMARTINT_STRING(name, def, level, help)                                                                        \
    register_variable(#name, help, MCA_BASE_VAR_TYPE_STRING, level, &values().name);
#define SMARTINT_NUMBER(name, def, lowest, highest, level, help)                                                       \
    register_variable(#name, help " (" #lowest " to " #highest ")", MCA_BASE_VAR_TYPE_UNSIGNED_INT, level,             \
                      &values().name);
#include "common_smartint_params.def"
#undef SMARTINT_STRING
#undef SMARTINT_NUMBER
}

params current_params() {
    params p;
    const variables &v = values();
#define SMARTINT_STRING(name, def, level, help) p.name = nullptr == v.name ? "" : v.name;
#define SMARTINT_NUMBER(name, def, lowest, highest, level, help) p.name = v.name;
#include "common_smartint_params.def"
#undef SMARTINT_STRING
#undef SMARTINT_NUMBER
    return p;
}

bool check_given_params(std::string *name, std::string *value, std::string *remedy) {
    const auto refuse = [&](const char *parameter, const char *range) {
        *name = parameter;
        *remedy = range;
        return false;
    };
#define SMARTINT_STRING(n, def, level, help)
#define SMARTINT_NUMBER(n, def, lowest, highest, level, help)                                                          \
    if (!written_within(#n, lowest, highest, value)) {                                                                 \
        return refuse(#n, "use a number from " #lowest " to " #highest);                                               \
    }
#include "common_smartint_params.def"
#undef SMARTINT_STRING
#undef SMARTINT_NUMBER
    return check_params(current_params(), name, value, remedy);
}

} // namespace smartint
