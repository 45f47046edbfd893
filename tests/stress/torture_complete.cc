// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// All forms in which MPI tests and waits for requests, on a random choice of those under way.
#include <algorithm>

#include "torture.h"

namespace torture {
namespace {

class choice {
public:
    choice(const operations &chosen) : chosen_(chosen), statuses_(chosen.size()), indices_(chosen.size()) {
        for (const operation *o : chosen) {
            requests_.push_back(o->request);
        }
    }

    void run(unsigned form, bool wait) {
        const int n = static_cast<int>(chosen_.size());
        MPI_Request *q = requests_.data();
        MPI_Status *s = statuses_.data();
        int flag = 1;
        int at = 0;
        int outcount = n;
        switch (form) {
        case 0:
            if (wait) {
                MPI(MPI_Wait(q, s));
            } else {
                MPI(MPI_Test(q, &flag, s));
            }
            over(flag ? 1 : 0);
            break;
        case 1:
            if (wait) {
                MPI(MPI_Waitany(n, q, &at, s));
            } else {
                MPI(MPI_Testany(n, q, &at, &flag, s));
            }
            if (flag) {
                one(at, s[0]);
            }
            break;
        case 2:
            if (wait) {
                MPI(MPI_Waitsome(n, q, &outcount, indices_.data(), s));
                if (outcount < 1) {
                    fail("MPI_Waitsome came back with %d of %d", outcount, n);
                }
            } else {
                MPI(MPI_Testsome(n, q, &outcount, indices_.data(), s));
            }
            if (outcount < 0) {
                fail("none of %d active requests was seen as active", n);
            }
            for (int i = 0; i < outcount; ++i) {
                one(indices_[static_cast<std::size_t>(i)], s[i]);
            }
            break;
        case 3: // one after the other is as good as all at once
            if (wait) {
                MPI(MPI_Waitall(n, q, s));
            } else {
                MPI(MPI_Testall(n, q, &flag, s));
            }
            over(flag ? n : 0);
            break;
        default: // a look, then the real call
            MPI(MPI_Request_get_status(q[0], &flag, s));
            if (flag || wait) {
                MPI(MPI_Wait(q, s));
                over(1);
            }
        }
    }

    operations done; // in the order told

private:
    void over(int n) {
        for (int i = 0; i < n; ++i) {
            one(i, statuses_[static_cast<std::size_t>(i)]);
        }
    }

    void one(int at, const MPI_Status &status) {
        if (at < 0 || static_cast<std::size_t>(at) >= chosen_.size()) {
            fail("index %d of %zu requests is complete", at, chosen_.size());
        }
        operation *o = chosen_[static_cast<std::size_t>(at)];
        o->request = requests_[static_cast<std::size_t>(at)];
        if (o->persistent == (MPI_REQUEST_NULL == o->request)) {
            fail("a complete %s request is %s", o->persistent ? "persistent" : "plain",
                 o->persistent ? "gone" : "still there");
        }
        if (std::find(done.begin(), done.end(), o) != done.end()) {
            fail("request %d is told to be complete twice", at);
        }
        o->finish(status);
        done.push_back(o);
    }

    operations chosen_;
    std::vector<MPI_Request> requests_;
    std::vector<MPI_Status> statuses_;
    std::vector<int> indices_;
};

} // namespace

void complete_some(operations *active, random *r, bool wait) {
    operations pool;
    for (operation *o : *active) {
        if (!wait || o->may_wait) {
            pool.push_back(o);
        }
    }
    if (pool.empty()) {
        return;
    }
    for (std::size_t i = pool.size() - 1; i > 0; --i) {
        std::swap(pool[i], pool[r->below(i + 1)]);
    }
    pool.resize(r->one_in(3) ? pool.size() : r->from_to(1, pool.size()));
    choice c(pool);
    c.run(static_cast<unsigned>(r->below(5)), wait);
    std::erase_if(*active, [&c](operation *o) { return std::find(c.done.begin(), c.done.end(), o) != c.done.end(); });
}

} // namespace torture
