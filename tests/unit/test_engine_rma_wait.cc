// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// Epochs that come to wait for another process while the application waits for something else: nobody need come then,
// and somebody must once it has gone away to compute.
#include <vector>

#include "harness_exchange.h"

namespace smartint {
namespace {

using namespace test;
using std::byte;

constexpr std::uint32_t window_id = 9;
constexpr std::size_t exposed = 4096;

// Zero has begun what waits for one; its thread sleeps.
// With MPI_THREAD_MULTIPLE, and without.
class epochs_and_waits : public computing, public testing::WithParamInterface<bool> {
protected:
    epochs_and_waits() : n(parameters(), GetParam()) {
        endpoint *const self[] = {n.a.add_self(), n.b.add_self()};
        n.a.hooks().rma_done = n.b.hooks().rma_done = [](void *user, rma_error) { ++*static_cast<unsigned *>(user); };
        zero = make_window(n.a, window_id, 0, {member_of(self[0], memory[0]), member_of(n.to_b, memory[1])});
        one = make_window(n.b, window_id, 1, {member_of(n.to_a, memory[0]), member_of(self[1], memory[1])});
        n.start_threads();
        settle(n);
        before = armed(n.a);
        mine.user = &told;
    }
    ~epochs_and_waits() override {
        n.drive("the rest", [&] { return 1 == told; });
        n.a.stop_thread();
        n.b.stop_thread();
        destroy_window(n.a, zero);
        destroy_window(n.b, one);
    }
    // The call is made in the course of a wait, which ends behind it.
    template <class F> void in_a_wait(F f) {
        n.a.begin_wait();
        call(n.a, f);
        EXPECT_EQ(before, armed(n.a));
        n.a.end_wait();
        EXPECT_EQ(before + 1, armed(n.a));
        wait_until("its thread sleeps", [&] { return asleep(n.a); });
    }
    // Of one, which does not compute: up to its end.
    void access() {
        rma_sync over;
        call(n.b, [&](rma &r) {
            r.await_post(r.peer(one, 0), nullptr);
            r.complete(r.peer(one, 0), &over);
        });
        wait_until("the access", [&] {
            n.b.progress();
            return ended(n.b, over);
        });
    }
    void thread_ends_it() {
        wait_until("the thread of zero sees to it", [&] { return ended(n.a, mine); });
        EXPECT_EQ(0U, told) << "that is for the application";
    }

    node_pair n;
    std::vector<byte> memory[2] = {std::vector<byte>(exposed), std::vector<byte>(exposed)};
    std::vector<byte> source = std::vector<byte>(exposed, byte{0x5a});
    rma_window *zero = nullptr;
    rma_window *one = nullptr;
    rma_sync mine;
    unsigned told = 0;
    unsigned before = 0;
};

TEST_P(epochs_and_waits, an_access_that_waits_for_its_exposure) {
    in_a_wait([&](rma &r) {
        rma_peer *p = r.peer(zero, 1);
        r.await_post(p, nullptr);
        rma_item *i = rma::make(rma_item::what::put);
        i->target = reinterpret_cast<std::uint64_t>(memory[1].data());
        i->target_layout = i->origin_layout = rma_layout(exposed);
        i->origin = source.data();
        r.submit(p, i);
        r.complete(p, &mine);
    });
    call(n.b, [&](rma &r) { r.post(one, {0}, false, false); });
    thread_ends_it();
    rma_sync theirs;
    call(n.b, [&](rma &r) { r.wait(one, &theirs); });
    n.drive("the exposure", [&] { return ended(n.b, theirs); });
    EXPECT_EQ(source, memory[1]);
}

TEST_P(epochs_and_waits, a_fence) {
    in_a_wait([&](rma &r) { r.fence(zero, &mine); });
    rma_sync theirs;
    call(n.b, [&](rma &r) { r.fence(one, &theirs); });
    thread_ends_it();
    n.drive("the other's", [&] { return ended(n.b, theirs); });
}

TEST_P(epochs_and_waits, an_exposure_that_waits_for_its_origins) {
    in_a_wait([&](rma &r) {
        r.post(zero, {1}, false, true);
        r.wait(zero, &mine);
    });
    access();
    thread_ends_it();
}

// The exposure may end in a call of the application, which then asks for nothing.
TEST_P(epochs_and_waits, a_fence_behind_an_exposure_is_asked_for_at_once) {
    unsigned waited = 0;
    rma_sync exposure;
    exposure.user = &waited;
    call(n.a, [&](rma &r) {
        r.post(zero, {1}, false, true);
        r.wait(zero, &exposure);
        r.fence(zero, &mine);
    });
    EXPECT_EQ(before + 2, armed(n.a)) << "for the exposure's end, and for the barrier";
    access();
    call(n.a, [&](rma &) {}); // ends the exposure, or finds that the thread has
    rma_sync theirs;
    call(n.b, [&](rma &r) { r.fence(one, &theirs); });
    thread_ends_it();
    n.drive("both", [&] { return ended(n.b, theirs) && 1 == waited; });
}

INSTANTIATE_TEST_SUITE_P(levels, epochs_and_waits, testing::Bool());

} // namespace
} // namespace smartint
