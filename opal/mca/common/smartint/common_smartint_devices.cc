// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
#include "common_smartint_devices.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace smartint {
namespace {

// The interfaces of the kernel whose addresses a device has: itself, or those of a verbs device (NAME:PORT), RoCE's by
// the table of its port, IPoIB's by the adapter.
std::vector<std::string> interfaces_of(const std::string &device) {
    std::vector<std::string> found{device};
    const std::size_t colon = device.find(':');
    if (std::string::npos == colon) {
        return found;
    }
    const std::string sys = "/sys/class/infiniband/" + device.substr(0, colon);
    using entries = std::filesystem::directory_iterator;
    std::error_code error; // also where there is no such directory
    const std::string port = device.substr(colon + 1);
    for (entries i(sys + "/device/net", error); !error && i != entries(); i.increment(error)) {
        unsigned of = 0; // the adapter's ports, from 0
        if (std::ifstream(i->path() / "dev_port") >> of && std::to_string(of + 1) == port) {
            found.push_back(i->path().filename());
        }
    }
    for (entries i(sys + "/ports/" + port + "/gid_attrs/ndevs", error); !error && i != entries(); i.increment(error)) {
        std::string name;
        if (std::ifstream(i->path()) >> name) { // an unused entry cannot be read
            found.push_back(name);
        }
    }
    return found;
}

} // namespace

bool device_list::subnet::has(int of, const unsigned char *other) const {
    const unsigned whole = bits / 8;
    const unsigned rest = bits % 8;
    return of == family && 0 == std::memcmp(address.data(), other, whole) &&
           (0 == rest || 0 == (address[whole] ^ other[whole]) >> (8 - rest));
}

bool device_list::parse_subnet(const std::string &text, subnet *out) {
    const std::size_t slash = text.find('/');
    const std::string address = text.substr(0, slash);
    const std::string bits = text.substr(slash + 1);
    out->address = {};
    out->family = std::string::npos == address.find(':') ? AF_INET : AF_INET6;
    const unsigned most = AF_INET == out->family ? 32 : 128;
    const char *end = bits.data() + bits.size();
    const auto [after, error] = std::from_chars(bits.data(), end, out->bits);
    return 1 == inet_pton(out->family, address.c_str(), out->address.data()) && std::errc() == error && after == end &&
           out->bits <= most;
}

bool device_list::parse(const std::string &text) {
    *this = {};
    if ("any" == text) {
        others_ = true;
        return true;
    }
    device_list parsed;
    parsed.others_ = !text.empty() && '^' == text[0];
    for (std::size_t at = parsed.others_ ? 1 : 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const std::string item = text.substr(at, end - at);
        subnet s{};
        if (item.empty() || "any" == item || std::string::npos != item.find_first_of("^ \t")) {
            return false;
        }
        if (std::string::npos == item.find('/')) {
            parsed.names_.push_back(item);
        } else if (parse_subnet(item, &s)) {
            parsed.subnets_.push_back(s);
        } else {
            return false;
        }
        at = end + 1;
    }
    *this = std::move(parsed);
    return true;
}

bool device_list::allows(const std::string &device) const { return listed(device) != others_; }

bool device_list::listed(const std::string &device) const {
    const std::string without_port = device.substr(0, device.find(':'));
    for (const std::string &name : names_) {
        if (name == device || name == without_port) {
            return true;
        }
    }
    ifaddrs *all = nullptr;
    if (subnets_.empty()) {
        return false;
    }
    if (0 != getifaddrs(&all)) {
        return others_; // nothing is known of it: not allowed
    }
    const std::vector<std::string> interfaces = interfaces_of(device);
    bool found = false;
    for (const ifaddrs *a = all; nullptr != a && !found; a = a->ifa_next) {
        if (nullptr == a->ifa_addr ||
            std::find(interfaces.begin(), interfaces.end(), a->ifa_name) == interfaces.end()) {
            continue;
        }
        const int family = a->ifa_addr->sa_family;
        std::array<unsigned char, 16> address{};
        if (AF_INET == family) {
            sockaddr_in of4{};
            std::memcpy(&of4, a->ifa_addr, sizeof(of4));
            std::memcpy(address.data(), &of4.sin_addr, sizeof(of4.sin_addr));
        } else if (AF_INET6 == family) {
            sockaddr_in6 of6{};
            std::memcpy(&of6, a->ifa_addr, sizeof(of6));
            std::memcpy(address.data(), &of6.sin6_addr, sizeof(of6.sin6_addr));
        }
        for (const subnet &s : subnets_) {
            found = found || s.has(family, address.data());
        }
    }
    freeifaddrs(all);
    return found;
}

} // namespace smartint
