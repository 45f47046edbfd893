// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// The counters that smartint exports as MPI_T performance variables. With any other MPI there are
// none, and everything here is empty.

#ifndef SMARTINT_BENCH_PVARS_H
#define SMARTINT_BENCH_PVARS_H

#include <map>
#include <mpi.h>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

using counters = std::map<std::string, double>;

class pvars {
public:
    pvars() {
        int provided = 0;
        if (MPI_SUCCESS != MPI_T_init_thread(MPI_THREAD_SINGLE, &provided)) {
            return;
        }
        open_ = MPI_SUCCESS == MPI_T_pvar_session_create(&session_);
        int total = 0;
        if (open_ && MPI_SUCCESS == MPI_T_pvar_get_num(&total)) {
            for (int i = 0; i < total; ++i) {
                add(i);
            }
        }
    }

    // Before MPI_Finalize.
    void close() {
        if (open_) {
            for (variable &v : found_) {
                MPI_T_pvar_handle_free(session_, &v.handle);
            }
            found_.clear();
            MPI_T_pvar_session_free(&session_);
            MPI_T_finalize();
            open_ = false;
        }
    }

    bool any() const { return !found_.empty(); }

    counters read() const {
        counters values;
        for (const variable &v : found_) {
            values[v.name] += value(v);
        }
        return values;
    }

    // Adds to `sum` what was counted between two readings; of a level or a state, the later reading
    // counts.
    void accumulate(counters &sum, const counters &before, const counters &after) const {
        for (const variable &v : found_) {
            if (v.counts) {
                sum[v.name] += after.at(v.name) - before.at(v.name);
            } else {
                sum[v.name] = after.at(v.name);
            }
        }
    }

private:
    struct variable {
        std::string name;
        MPI_T_pvar_handle handle;
        MPI_Datatype type;
        int elements;
        bool counts; // grows only
    };

    // Open MPI may put framework and component before the name that was given.
    static std::string_view own_name(std::string_view full) {
        const auto at = full.find("smartint_");
        const bool found = 0 == at || (std::string_view::npos != at && '_' == full[at - 1]);
        return found ? full.substr(at) : std::string_view();
    }

    void add(int index) {
        char name[256];
        int length = sizeof(name), verbosity, kind, bind, readonly, continuous, atomic;
        MPI_Datatype type;
        MPI_T_enum enumeration;
        if (MPI_SUCCESS != MPI_T_pvar_get_info(index, name, &length, &verbosity, &kind, &type, &enumeration, nullptr,
                                               nullptr, &bind, &readonly, &continuous, &atomic)) {
            return;
        }
        const std::string_view own = own_name(name);
        if (own.empty() || (MPI_T_BIND_NO_OBJECT != bind && MPI_T_BIND_MPI_COMM != bind)) {
            return;
        }
        variable v{std::string(own), MPI_T_PVAR_HANDLE_NULL, type, 1,
                   MPI_T_PVAR_CLASS_COUNTER == kind || MPI_T_PVAR_CLASS_AGGREGATE == kind ||
                       MPI_T_PVAR_CLASS_TIMER == kind};
        MPI_Comm world = MPI_COMM_WORLD;
        if (MPI_SUCCESS != MPI_T_pvar_handle_alloc(session_, index, &world, &v.handle, &v.elements)) {
            return;
        }
        if (!continuous) {
            MPI_T_pvar_start(session_, v.handle);
        }
        found_.push_back(v);
    }

    template <typename T> double sum_as(const variable &v) const {
        std::vector<T> raw(static_cast<std::size_t>(v.elements));
        MPI_T_pvar_read(session_, v.handle, raw.data());
        double sum = 0;
        for (const T x : raw) {
            sum += static_cast<double>(x);
        }
        return sum;
    }

    double value(const variable &v) const {
        if (MPI_INT == v.type) {
            return sum_as<int>(v);
        }
        if (MPI_UNSIGNED == v.type) {
            return sum_as<unsigned>(v);
        }
        if (MPI_UNSIGNED_LONG == v.type) {
            return sum_as<unsigned long>(v);
        }
        if (MPI_UNSIGNED_LONG_LONG == v.type) {
            return sum_as<unsigned long long>(v);
        }
        if (MPI_COUNT == v.type) {
            return sum_as<MPI_Count>(v);
        }
        if (MPI_DOUBLE == v.type) {
            return sum_as<double>(v);
        }
        return 0;
    }

    bool open_ = false;
    MPI_T_pvar_session session_{};
    std::vector<variable> found_;
};

} // namespace bench

#endif
