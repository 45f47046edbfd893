// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// One thread's part in a round: its sends and receives under way, and what it has got. For
// torture_calls.cc and torture_run.cc.
#pragma once

#include "torture.h"

namespace torture {

struct state {
    const round_plan &plan;
    const communicator_set &set;
    unsigned thread;
    std::uint64_t round;
    random own;
    bool in_order;
    operations active;
    std::vector<std::unique_ptr<operation>> all;
    std::vector<receipt> receipts; // of receives that are complete
    std::uint64_t posted = 0;
    std::vector<bool> identified; // messages to us that a receive has got
};

class sending final : public operation {
public:
    sending(const message &m, unsigned i, random geometry)
        : data(geometry, m.size, m.unit_out, m.typed), m_(m), key_(m.key) {
        index = i;
        data.put(key_, m.size);
    }
    void finish(const MPI_Status &) override {
        data.expect(key_, m_.size, "a send buffer");
        done = true;
        data.spoil();
    }
    void again(std::uint64_t key) {
        key_ = key;
        data.put(key_, m_.size);
        done = false;
    }
    memory data;
    bool done = false;

private:
    const message &m_;
    std::uint64_t key_;
};

class receiving final : public operation {
public:
    receiving(state *s, const message &m, unsigned i, random geometry)
        : data(geometry, m.capacity, m.unit_in,
               24 == m.unit_in && m.expects >= 0 && s->plan.places[static_cast<unsigned>(m.expects)].m.typed),
          s_(s), m_(m) {
        index = i;
    }

    // How it names its message.
    int source() const {
        const communicator &c = s_->set.comms[m_.comm];
        return m_.wild_source ? MPI_ANY_SOURCE : c.rank_of(my_rank, s_->plan.places[m_.pattern_of].m.from);
    }
    int tag() const { return m_.wild_tag ? MPI_ANY_TAG : s_->plan.places[m_.pattern_of].m.tag; }
    void note_posted() { posted = s_->posted++; }

    void finish(const MPI_Status &status) override {
        int flag = 0;
        MPI(MPI_Test_cancelled(&status, &flag));
        if (flag) {
            fail("receive %u was cancelled by nobody", index);
        }
        const receipt got = read(status);
        if (again_) {
            data.expect(key_, m_.size, "a message of a persistent request");
        } else if (m_.expects >= 0) {
            const message &want = s_->plan.places[static_cast<unsigned>(m_.expects)].m;
            if (got.from != want.from || got.tag != want.tag || got.bytes != want.size) {
                fail("receive %u: status says %zu bytes from %d with tag %d, expected message %d: "
                     "%zu from %d, %d",
                     index, got.bytes, got.from, got.tag, m_.expects, want.size, want.from, want.tag);
            }
            data.expect(want.key, want.size, "a message");
        } else {
            identify(got);
        }
        done = true;
        if (!again_) {
            s_->receipts.push_back(got);
        }
    }

    void again(std::uint64_t key) {
        key_ = key;
        again_ = true;
        done = false;
        data.clear();
    }

    receipt read(const MPI_Status &status) const {
        receipt got;
        int bytes = -1;
        // elements may be of several types and the last one partial: their bytes are counted
        MPI(MPI_Get_count(&status, MPI_BYTE, &bytes));
        if (bytes < 0 || static_cast<std::size_t>(bytes) > m_.capacity) {
            fail("receive %u: status says %d bytes, there is room for %zu", index, bytes, m_.capacity);
        }
        got.index = index;
        got.posted = posted;
        got.from = s_->set.comms[m_.comm].world_of(my_rank, status.MPI_SOURCE);
        got.tag = status.MPI_TAG;
        got.bytes = static_cast<std::size_t>(bytes);
        got.data = &data;
        return got;
    }

    // What a probe for this receive found must be what it would get.
    void check_probe(const MPI_Status &status) const {
        const receipt got = read(status);
        if (m_.expects >= 0) {
            const message &want = s_->plan.places[static_cast<unsigned>(m_.expects)].m;
            if (got.from != want.from || got.tag != want.tag || got.bytes != want.size) {
                fail("probe for receive %u: %zu bytes from %d with tag %d, expected message %d: "
                     "%zu from %d, %d",
                     index, got.bytes, got.from, got.tag, m_.expects, want.size, want.from, want.tag);
            }
        }
    }

    memory data;
    std::uint64_t posted = 0;
    bool done = false;

private:
    // At once, as bytes that come later than completion would be missed after the round. Which one
    // it must have been is judged then.
    void identify(const receipt &got) {
        for (unsigned i = 0; i < s_->plan.places.size(); ++i) {
            const message &m = s_->plan.places[i].m;
            if (!s_->plan.places[i].is_collective && m.to == my_rank && m.comm == m_.comm && m.from == got.from &&
                m.tag == got.tag && m.size == got.bytes && !s_->identified[i] && data.holds(m.key, m.size)) {
                s_->identified[i] = true;
                return;
            }
        }
        fail("receive %u with wildcards: its %zu bytes from %d with tag %d are of no message sent "
             "so",
             index, got.bytes, got.from, got.tag);
    }

    state *s_;
    const message &m_;
    std::uint64_t key_ = 0;
    bool again_ = false;
};

// Place i of the plan, by a call of this rank's choice.
void begin_send(state *s, unsigned i);
void begin_recv(state *s, unsigned i);

} // namespace torture
