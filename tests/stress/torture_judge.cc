// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// After a round: which receive got which message, whether its bytes are still right, and whether
// any message overtook another one of the same sender and communicator.
#include <algorithm>
#include <array>
#include <map>

#include "torture.h"

namespace torture {
namespace {

bool fits(const round_plan &plan, unsigned receive, unsigned sent) {
    const message &r = plan.places[receive].m;
    const message &named = plan.places[r.pattern_of].m;
    const message &m = plan.places[sent].m;
    return (r.wild_source || named.from == m.from) && (r.wild_tag || named.tag == m.tag);
}

} // namespace

void judge(const round_plan &plan, const std::vector<receipt> &receipts) {
    std::map<std::array<int, 3>, std::vector<unsigned>> streams; // communicator, sender, tag: places, as sent
    std::size_t ours = 0;
    for (unsigned i = 0; i < plan.places.size(); ++i) {
        const message &m = plan.places[i].m;
        if (!plan.places[i].is_collective && m.to == my_rank) {
            streams[{static_cast<int>(m.comm), m.from, m.tag}].push_back(i);
            ++ours;
        }
    }
    if (receipts.size() != ours) {
        fail("%zu messages were received, %zu were sent", receipts.size(), ours);
    }
    std::vector<const receipt *> by_post;
    for (const receipt &r : receipts) {
        by_post.push_back(&r);
    }
    std::sort(by_post.begin(), by_post.end(), [](const receipt *a, const receipt *b) { return a->posted < b->posted; });
    // All receives that can take one message of a stream can take every one of it, so they get them
    // as they were posted.
    struct pair {
        const receipt *got;
        unsigned sent;
    };
    std::map<std::pair<int, int>, std::vector<pair>> from; // communicator, sender: in the order of posting
    std::map<std::array<int, 3>, std::size_t> next;
    for (const receipt *r : by_post) {
        const int comm = static_cast<int>(plan.places[r->index].m.comm);
        const std::array<int, 3> name{comm, r->from, r->tag};
        const auto stream = streams.find(name);
        if (stream == streams.end() || next[name] >= stream->second.size()) {
            fail("receive %u got a message from %d with tag %d: %zu of them were sent, this is one "
                 "more",
                 r->index, r->from, r->tag, stream == streams.end() ? 0 : stream->second.size());
        }
        const unsigned sent = stream->second[next[name]++];
        const message &m = plan.places[sent].m;
        if (!fits(plan, r->index, sent)) {
            fail("receive %u got message %u, which it does not ask for", r->index, sent);
        }
        if (r->bytes != m.size || !r->data->holds(m.key, m.size)) {
            const char *reason = "its data changed after completion";
            for (const unsigned other : stream->second) {
                if (other != sent && r->bytes == plan.places[other].m.size &&
                    r->data->holds(plan.places[other].m.key, r->bytes)) {
                    reason = "it has another one of the same sender and tag: they overtook each other";
                }
            }
            fail("receive %u should have got message %u (%zu bytes): %s", r->index, sent, m.size, reason);
        }
        from[{comm, r->from}].push_back({r, sent});
    }
    // Whatever the tags: of two messages the one sent first gets the receive posted first, if both
    // receives fit it.
    for (const auto &[name, pairs] : from) {
        for (std::size_t early = 0; early < pairs.size(); ++early) {
            for (std::size_t late = early + 1; late < pairs.size(); ++late) {
                if (pairs[late].sent < pairs[early].sent && fits(plan, pairs[early].got->index, pairs[late].sent)) {
                    fail("message %u from %d overtook message %u: receive %u was posted before %u "
                         "and fits both",
                         pairs[early].sent, name.second, pairs[late].sent, pairs[early].got->index,
                         pairs[late].got->index);
                }
            }
        }
    }
}

} // namespace torture
