// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// How far a ring's consumer stays behind its producers. One that has read everything and looks again at once reads a
// record's lines while the next one is written beside them: lines go to and fro between the two cores, and both wait
// for them. In a row of one-sided operations whose origin waits for none of them nobody is served by that. Left alone
// for a moment, the producer is some records ahead, and each line changes hands once: rows of puts of 256 bytes to
// 2 KiB take a tenth to a half less time, on near cores and on far ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace smartint {

// The consumer's, under the gate. Times in ns, of now_ns().
class headway {
public:
    static constexpr unsigned row = 8;             // operations; fewer are none
    static constexpr std::uint64_t longest = 1500; // in the time of some ten records
    static constexpr std::uint64_t each = 16;      // of its row: what is behind at the row's end is waited for

    void served() { // one more operation, and nobody is answered
        ++served_;
        fresh_ = true;
    }
    void answered() {
        last_ = 0 != served_ ? served_ : last_;
        served_ = 0;
        fresh_ = false; // who was waiting may go on with something else
    }
    // All there was is read. Was it of a row, which is as long as the last one, mostly?
    bool in_a_row() { return std::exchange(fresh_, false) && (served_ > row || last_ > row); }
    void keep(std::uint64_t now) { until_ = now + std::min(longest, each * std::max(served_, last_)); }
    bool kept() const { return 0 != until_; }
    // Does it go on? Not where somebody waits.
    bool goes_on(bool hurry, std::uint64_t now) {
        if (!hurry && now < until_) {
            return true;
        }
        until_ = 0;
        return false;
    }

private:
    unsigned served_ = 0;     // since the last answer
    unsigned last_ = 0;       // before it
    bool fresh_ = false;      // some since the ring was empty
    std::uint64_t until_ = 0; // 0: it is not kept
};

} // namespace smartint
