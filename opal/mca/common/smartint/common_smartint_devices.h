// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// What parameter device says: which network devices of a host may be used. Nodes need not call them the same; their
// subnet is one.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace smartint {

// "any", or names (of ucx_info -d; those of verbs with or without their port) and subnets (10.1.0.0/16, fd00::/8) with
// commas between them; all others with ^ in front.
class device_list {
public:
    // False: malformed, and nothing is allowed.
    bool parse(const std::string &text);
    // Looks at the host's addresses now, if there are subnets. Any thread.
    bool allows(const std::string &device) const;

private:
    struct subnet {
        int family; // AF_INET, AF_INET6
        std::array<unsigned char, 16> address;
        unsigned bits; // of the address, from its first
        bool has(int of, const unsigned char *other) const;
    };
    static bool parse_subnet(const std::string &text, subnet *out);
    bool listed(const std::string &device) const;

    bool others_ = false; // those that are not listed
    std::vector<std::string> names_;
    std::vector<subnet> subnets_;
};

} // namespace smartint
