// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: 2026 The smartint authors
//
// A command line as a list of options, each with its help and what it sets; --help is made of it.

#ifndef SMARTINT_BENCH_ARGUMENTS_H
#define SMARTINT_BENCH_ARGUMENTS_H

#include "bench_parse.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <getopt.h>
#include <string>
#include <utility>
#include <vector>

namespace bench {

class arguments {
public:
    // `head` stands above the list of options.
    explicit arguments(std::string head) : head_(std::move(head)) {}

    // `set` gets the option's value; `metavar` is its name in the help: nullptr, the option has
    // none; [X], it may be left out and is a null pointer then. `letter` 0: there is no short form.
    void add(char letter, const char *name, const char *metavar, std::string help,
             std::function<void(const char *)> set) {
        options_.push_back({letter, name, metavar, std::move(help), std::move(set)});
    }

    void flag(char letter, const char *name, std::string help, bool &target) {
        add(letter, name, nullptr, std::move(help), [&target](const char *) { target = true; });
    }

    template <typename T>
    void value(char letter, const char *name, const char *metavar, std::string help, T &target, T least, T most) {
        add(letter, name, metavar, std::move(help),
            [name, &target, least, most](const char *text) { target = number(name, text, least, most); });
    }

    template <typename T>
    void list(char letter, const char *name, std::string help, std::vector<T> &target, T least, T most) {
        add(letter, name, "LIST", std::move(help), [name, &target, least, most](const char *text) {
            target.clear();
            for (const auto part : split(text)) {
                target.push_back(number(name, part, least, most));
            }
        });
    }

    void sizes(char letter, const char *name, std::string help, std::vector<std::size_t> &target) {
        add(letter, name, "LIST", std::move(help), [name, &target](const char *text) {
            target.clear();
            for (const auto part : split(text)) {
                target.push_back(bytes(name, part));
            }
        });
    }

    void size(char letter, const char *name, std::string help, std::size_t &target) {
        add(letter, name, "SIZE", std::move(help), [name, &target](const char *text) { target = bytes(name, text); });
    }

    void parse(int argc, char **argv) const {
        std::string letters;
        std::vector<option> table;
        for (const item &i : options_) {
            const int argument = nullptr == i.metavar  ? no_argument
                                 : '[' == i.metavar[0] ? optional_argument
                                                       : required_argument;
            table.push_back({i.name, argument, nullptr, first_ + static_cast<int>(table.size())});
            if (0 != i.letter) {
                letters += i.letter;
                letters.append(static_cast<std::size_t>(argument), ':');
            }
        }
        letters += 'h';
        table.push_back({"help", no_argument, nullptr, 'h'});
        table.push_back({nullptr, 0, nullptr, 0});
        for (int c; - 1 != (c = getopt_long(argc, argv, letters.c_str(), table.data(), nullptr));) {
            if ('h' == c) {
                usage(0);
            }
            found(c).set(optarg);
        }
        if (optind != argc) {
            usage(2);
        }
    }

private:
    static constexpr int first_ = 256;

    struct item {
        char letter;
        const char *name, *metavar;
        std::string help;
        std::function<void(const char *)> set;
    };

    const item &found(int c) const {
        for (std::size_t i = 0; i < options_.size(); ++i) {
            if (c == first_ + static_cast<int>(i) || (0 != c && c == options_[i].letter)) {
                return options_[i];
            }
        }
        usage(2);
    }

    [[noreturn]] void usage(int status) const {
        std::FILE *out = 0 == status ? stdout : stderr;
        std::fprintf(out, "%s\n", head_.c_str());
        for (const item &i : options_) {
            const std::string letter = 0 != i.letter ? std::string{'-', i.letter, ','} : "";
            std::string name = std::string("--") + i.name;
            if (nullptr != i.metavar) {
                name += '[' == i.metavar[0] ? std::string("[=") + (i.metavar + 1) : std::string(" ") + i.metavar;
            }
            std::fprintf(out, "  %3s %-20s ", letter.c_str(), name.c_str());
            wrapped(out, i.help, 27, 100);
        }
        std::fprintf(out, "  -h, --help\n");
        std::exit(status);
    }

    // The text from column `indent` on, no further than `width`.
    static void wrapped(std::FILE *out, std::string_view text, int indent, int width) {
        const auto room = static_cast<std::size_t>(width - indent);
        while (text.size() > room) {
            const auto cut = text.rfind(' ', room);
            if (std::string_view::npos == cut) {
                break;
            }
            std::fprintf(out, "%.*s\n%*s", static_cast<int>(cut), text.data(), indent, "");
            text.remove_prefix(cut + 1);
        }
        std::fprintf(out, "%.*s\n", static_cast<int>(text.size()), text.data());
    }

    std::string head_;
    std::vector<item> options_;
};

} // namespace bench

#endif
