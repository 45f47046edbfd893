// SPDX-License-Identifier: BSD-3-Clause
// Description: derived datatypes of many layouts on both sides, on one side only, and different layouts
// of the same signature on the two sides, from one byte to 8 MB; packed messages; partial receives.
//
// The truth comes from the typemap as we construct it, not from MPI_Pack: every layout lists its
// segments, and both buffers are checked byte by byte, gaps included. In all pairs
// (r, r ^ 1) at once. argv[1]: largest size in bytes.
#include "check.h"

enum { TAG = 6 };

// One element of a layout: segments (offset, length) in typemap order, possibly at negative offsets.
enum { MAX_SEGMENTS = 64 };

typedef struct {
    const char *name;
    MPI_Datatype type;
    int n;
    struct {
        MPI_Aint at;
        size_t length;
    } segment[MAX_SEGMENTS];
    size_t size;        // bytes of data in an element
    MPI_Aint extent;    // distance of two elements
    MPI_Aint low, high; // bytes touched by one element: [low, high)
} Layout;

enum { MAX_LAYOUTS = 16 };
static Layout layouts[MAX_LAYOUTS];
static int n_layouts;
static char note[160];

static Layout *add(const char *name) {
    CHECK(n_layouts < MAX_LAYOUTS, "too many layouts");
    Layout *layout = &layouts[n_layouts++];
    layout->name = name;
    layout->n = 0;
    return layout;
}

static void segment(Layout *layout, MPI_Aint at, size_t length) {
    CHECK(layout->n < MAX_SEGMENTS, "too many segments");
    layout->segment[layout->n].at = at;
    layout->segment[layout->n++].length = length;
}

static void complete(Layout *layout) {
    MPI_Aint lb, extent;
    int size;
    MPI(MPI_Type_commit(&layout->type));
    MPI(MPI_Type_get_extent(layout->type, &lb, &extent));
    MPI(MPI_Type_size(layout->type, &size));
    layout->extent = extent;
    layout->size = 0;
    layout->low = layout->segment[0].at;
    layout->high = layout->low;
    for (int i = 0; i < layout->n; ++i) {
        MPI_Aint at = layout->segment[i].at, end = at + (MPI_Aint) layout->segment[i].length;
        layout->size += layout->segment[i].length;
        layout->low = at < layout->low ? at : layout->low;
        layout->high = end > layout->high ? end : layout->high;
    }
    CHECK((int) layout->size == size, "%s: MPI_Type_size is %d, by hand %zu", layout->name, size, layout->size);
}

// All layouts are built of bytes, so every pair of them has the same signature at the same byte count.
static void make_layouts(void) {
    Layout *t;
    MPI_Datatype inner;

    t = add("bytes");
    segment(t, 0, 1);
    MPI(MPI_Type_contiguous(1, MPI_BYTE, &t->type));
    complete(t);

    t = add("contiguous");
    segment(t, 0, 48);
    MPI(MPI_Type_contiguous(48, MPI_BYTE, &t->type));
    complete(t);

    t = add("vector");
    for (int i = 0; i < 6; ++i) {
        segment(t, i * 11, 4);
    }
    MPI(MPI_Type_vector(6, 4, 11, MPI_BYTE, &t->type));
    complete(t);

    t = add("wide vector"); // blocks larger than a page
    for (int i = 0; i < 3; ++i) {
        segment(t, i * 9000, 5000);
    }
    MPI(MPI_Type_vector(3, 5000, 9000, MPI_BYTE, &t->type));
    complete(t);

    t = add("hvector of vectors");
    for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 3; ++j) {
            segment(t, i * 37 + j * 5, 2);
        }
    }
    MPI(MPI_Type_vector(3, 2, 5, MPI_BYTE, &inner));
    MPI(MPI_Type_create_hvector(4, 1, 37, inner, &t->type));
    MPI(MPI_Type_free(&inner));
    complete(t);

    t = add("indexed"); // out of order on purpose
    {
        int lengths[] = {3, 7, 1, 5}, at[] = {20, 2, 40, 30};
        for (int i = 0; i < 4; ++i) {
            segment(t, at[i], lengths[i]);
        }
        MPI(MPI_Type_indexed(4, lengths, at, MPI_BYTE, &t->type));
        complete(t);
    }

    t = add("hindexed");
    {
        int lengths[] = {16, 1, 0, 31};
        MPI_Aint at[] = {100, 3, 50, 9};
        for (int i = 0; i < 4; ++i) {
            segment(t, at[i], lengths[i]);
        }
        MPI(MPI_Type_create_hindexed(4, lengths, at, MPI_BYTE, &t->type));
        complete(t);
    }

    t = add("hindexed, negative lower bound");
    {
        int lengths[] = {8, 8, 8};
        MPI_Aint at[] = {-24, 16, 0};
        for (int i = 0; i < 3; ++i) {
            segment(t, at[i], lengths[i]);
        }
        MPI(MPI_Type_create_hindexed(3, lengths, at, MPI_BYTE, &t->type));
        complete(t);
    }

    t = add("indexed block");
    {
        int at[] = {5, 0, 60, 33};
        for (int i = 0; i < 4; ++i) {
            segment(t, at[i], 5);
        }
        MPI(MPI_Type_create_indexed_block(4, 5, at, MPI_BYTE, &t->type));
        complete(t);
    }

    t = add("struct");
    {
        int lengths[] = {4, 2, 1};
        MPI_Aint at[] = {0, 8, 40};
        MPI_Datatype types[3] = {MPI_BYTE, MPI_DATATYPE_NULL, MPI_BYTE};
        MPI(MPI_Type_vector(2, 3, 6, MPI_BYTE, &types[1])); // extent 9
        MPI(MPI_Type_create_struct(3, lengths, at, types, &t->type));
        MPI(MPI_Type_free(&types[1]));
        segment(t, 0, 4);
        for (int i = 0; i < 2; ++i) {
            segment(t, 8 + i * 9, 3);
            segment(t, 8 + i * 9 + 6, 3);
        }
        segment(t, 40, 1);
        complete(t);
    }

    t = add("resized, larger");
    segment(t, 0, 13);
    MPI(MPI_Type_contiguous(13, MPI_BYTE, &inner));
    MPI(MPI_Type_create_resized(inner, 0, 64, &t->type));
    MPI(MPI_Type_free(&inner));
    complete(t);

    t = add("resized, interleaved"); // extent smaller than the span, elements lie between each other
    segment(t, 0, 4);
    segment(t, 1 << 24, 4);
    {
        int lengths[] = {4, 4};
        MPI_Aint at[] = {0, 1 << 24};
        MPI(MPI_Type_create_hindexed(2, lengths, at, MPI_BYTE, &inner));
    }
    MPI(MPI_Type_create_resized(inner, 0, 4, &t->type));
    MPI(MPI_Type_free(&inner));
    complete(t);

    t = add("resized, negative lower bound");
    segment(t, 0, 20);
    MPI(MPI_Type_contiguous(20, MPI_BYTE, &inner));
    MPI(MPI_Type_create_resized(inner, -8, 40, &t->type));
    MPI(MPI_Type_free(&inner));
    complete(t);

    t = add("subarray"); // the block [1..4) x [2..7) x [3..5) of 5 x 9 x 8
    {
        int sizes[] = {5, 9, 8}, sub[] = {3, 5, 2}, start[] = {1, 2, 3};
        for (int i = 0; i < sub[0]; ++i) {
            for (int j = 0; j < sub[1]; ++j) {
                segment(t, ((start[0] + i) * 9 + start[1] + j) * 8 + start[2], sub[2]);
            }
        }
        MPI(MPI_Type_create_subarray(3, sizes, sub, start, MPI_ORDER_C, MPI_BYTE, &t->type));
        complete(t);
    }
}

// ---- buffers by layout -----------------------------------------------------------------------------

typedef struct {
    unsigned char *base;   // guarded
    unsigned char *origin; // what MPI gets
    size_t span;
} Buffer;

static Buffer buffer_for(const Layout *t, size_t count) {
    Buffer b;
    MPI_Aint last = count > 0 ? (MPI_Aint) (count - 1) * t->extent : 0;
    MPI_Aint low = t->low < 0 ? t->low : 0;
    MPI_Aint high = last + t->high;
    b.span = (size_t) (high - low);
    b.base = guarded_alloc(b.span);
    b.origin = b.base - low;
    return b;
}

// Walk over the data bytes in typemap order, `limit` bytes of them: write or check the pattern.
// Checked bytes are blanked, so that afterwards the whole buffer must be blank: gaps are checked too.
static void walk(const Layout *t, Buffer b, size_t limit, uint64_t key, int check) {
    size_t stream = 0;
    for (size_t element = 0; stream < limit; ++element) {
        for (int i = 0; i < t->n && stream < limit; ++i) {
            unsigned char *p = b.origin + (MPI_Aint) element * t->extent + t->segment[i].at;
            size_t length = t->segment[i].length;
            if (length > limit - stream) {
                length = limit - stream;
            }
            if (check) {
                int64_t bad = first_wrong(p, length, key, stream);
                CHECK(bad < 0, "%s: byte %zu of %zu (element %zu) is %02x, expected %02x", t->name,
                      stream + (size_t) bad, limit, element, p[bad], pattern_byte(key, stream + (size_t) bad));
                memset(p, BLANK_VALUE, length);
            } else {
                fill_from(p, length, key, stream);
            }
            stream += length;
        }
    }
}

static void judge(const Layout *t, Buffer b, size_t bytes, uint64_t key) {
    walk(t, b, bytes, key, 1);
    VERIFY_VALUE(b.base, b.span, BLANK_VALUE, "gaps between the data");
    guarded_check(b.base, b.span);
}

// Side 0 sends `bytes` in layout s, side 1 receives them in layout r.
static void exchange(const Layout *s, const Layout *r, size_t bytes, int nonblocking) {
    size_t s_count = bytes / s->size, r_count = bytes / r->size;
    uint64_t key = pair_key(100, bytes, s - layouts, r - layouts);
    MPI_Status status;
    MPI_Request request;

    snprintf(note, sizeof(note), "sending %zu bytes of '%s' into '%s'", bytes, s->name, r->name);
    if (0 == my_side) {
        Buffer b = buffer_for(s, s_count);
        walk(s, b, bytes, key, 0);
        if (nonblocking) {
            MPI(MPI_Issend(b.origin, (int) s_count, s->type, my_peer, TAG, MPI_COMM_WORLD, &request));
            MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            MPI(MPI_Send(b.origin, (int) s_count, s->type, my_peer, TAG, MPI_COMM_WORLD));
        }
        judge(s, b, bytes, key); // the send buffer is as it was
        guarded_free(b.base, b.span);
    } else if (1 == my_side) {
        int count, elements;
        Buffer b = buffer_for(r, r_count);
        if (nonblocking) {
            MPI(MPI_Irecv(b.origin, (int) r_count, r->type, my_peer, TAG, MPI_COMM_WORLD, &request));
            MPI(MPI_Wait(&request, &status));
        } else {
            MPI(MPI_Recv(b.origin, (int) r_count, r->type, my_peer, TAG, MPI_COMM_WORLD, &status));
        }
        MPI(MPI_Get_count(&status, r->type, &count));
        MPI(MPI_Get_elements(&status, r->type, &elements));
        CHECK(count == (int) r_count, "Get_count is %d, expected %zu", count, r_count);
        CHECK(elements == (int) bytes, "Get_elements is %d, expected %zu", elements, bytes);
        judge(r, b, bytes, key);
        guarded_free(b.base, b.span);
    }
}

static size_t common(size_t a, size_t b) {
    size_t x = a, y = b;
    while (y) {
        size_t t = x % y;
        x = y;
        y = t;
    }
    return a / x * b;
}

static void all_pairs(size_t target) {
    for (int i = 0; i < n_layouts; ++i) {
        for (int j = 0; j < n_layouts; ++j) {
            const Layout *s = &layouts[i], *r = &layouts[j];
            // All pairs for small messages; for large ones same layout, and each against plain bytes.
            if (target > 1 << 18 && i != j && i != 0 && j != 0) {
                continue;
            }
            size_t unit = common(s->size, r->size);
            size_t bytes = target / unit * unit;
            bytes = bytes ? bytes : unit;
            if (bytes > 4 * target && bytes > 1 << 20) {
                continue;
            }
            // Interleaved elements must not run into their own second half.
            if (bytes / 2 >= 1 << 24) {
                continue;
            }
            exchange(s, r, bytes, (i + j) % 2);
        }
    }
}

// The message holds less than the receive asks for, and ends inside an element.
static void partial(const Layout *t, size_t bytes) {
    size_t room = bytes / t->size + 3;
    uint64_t key = pair_key(101, bytes, t - layouts, 0);
    snprintf(note, sizeof(note), "receiving %zu bytes into more of '%s'", bytes, t->name);
    if (0 == my_side) {
        unsigned char *buf = guarded_alloc(bytes);
        fill(buf, bytes, key);
        MPI(MPI_Send(buf, (int) bytes, MPI_BYTE, my_peer, TAG, MPI_COMM_WORLD));
        guarded_free(buf, bytes);
    } else if (1 == my_side) {
        Buffer b = buffer_for(t, room);
        MPI_Status status;
        MPI_Count many;
        int count, elements;
        MPI(MPI_Recv(b.origin, (int) room, t->type, my_peer, TAG, MPI_COMM_WORLD, &status));
        MPI(MPI_Get_count(&status, t->type, &count));
        MPI(MPI_Get_elements(&status, t->type, &elements));
        MPI(MPI_Get_elements_x(&status, t->type, &many));
        int want = bytes % t->size ? MPI_UNDEFINED : (int) (bytes / t->size);
        CHECK(count == want, "Get_count is %d, expected %d", count, want);
        CHECK(elements == (int) bytes && many == (MPI_Count) bytes, "Get_elements is %d, expected %zu", elements,
              bytes);
        judge(t, b, bytes, key);
        guarded_free(b.base, b.span);
    }
}

// Packed by MPI_Pack and sent as MPI_PACKED; received packed and unpacked, or straight into the type.
static void packed(const Layout *t, size_t count) {
    size_t bytes = count * t->size;
    uint64_t key = pair_key(102, bytes, t - layouts, 0);
    int room = 0, at = 0;
    snprintf(note, sizeof(note), "sending %zu of '%s' packed", count, t->name);
    MPI(MPI_Pack_size((int) count, t->type, MPI_COMM_WORLD, &room));
    unsigned char *pack = guarded_alloc(room);
    Buffer b = buffer_for(t, count);
    if (0 == my_side) {
        walk(t, b, bytes, key, 0);
        MPI(MPI_Pack(b.origin, (int) count, t->type, pack, room, &at, MPI_COMM_WORLD));
        MPI(MPI_Send(pack, at, MPI_PACKED, my_peer, TAG, MPI_COMM_WORLD));
        MPI(MPI_Send(pack, at, MPI_PACKED, my_peer, TAG, MPI_COMM_WORLD));
        judge(t, b, bytes, key);
    } else if (1 == my_side) {
        MPI_Status status;
        MPI(MPI_Recv(pack, room, MPI_PACKED, my_peer, TAG, MPI_COMM_WORLD, &status));
        MPI(MPI_Unpack(pack, room, &at, b.origin, (int) count, t->type, MPI_COMM_WORLD));
        judge(t, b, bytes, key);
        MPI(MPI_Recv(b.origin, (int) count, t->type, my_peer, TAG, MPI_COMM_WORLD, &status));
        judge(t, b, bytes, key);
    }
    guarded_free(b.base, b.span);
    guarded_free(pack, room);
}

// A struct of several basic types with padding, as a program would use it.
static void mixed(int count) {
    typedef struct {
        char c;
        double d;
        short s[3];
        int i;
    } Mixed;
    MPI_Datatype plain, type;
    int lengths[] = {1, 1, 3, 1};
    MPI_Aint at[] = {offsetof(Mixed, c), offsetof(Mixed, d), offsetof(Mixed, s), offsetof(Mixed, i)};
    MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT, MPI_INT};
    snprintf(note, sizeof(note), "sending %d mixed structs", count);
    MPI(MPI_Type_create_struct(4, lengths, at, types, &plain));
    MPI(MPI_Type_create_resized(plain, 0, sizeof(Mixed), &type));
    MPI(MPI_Type_commit(&type));
    MPI(MPI_Type_free(&plain));
    Mixed *m = guarded_alloc(count * sizeof(Mixed));
    if (0 == my_side) {
        for (int i = 0; i < count; ++i) {
            m[i] = (Mixed){(char) i, i * 0.5, {(short) i, (short) (i + 1), (short) (i * 3)}, -i};
        }
        MPI(MPI_Send(m, count, type, my_peer, TAG, MPI_COMM_WORLD));
    } else if (1 == my_side) {
        MPI_Status status;
        int n, elements;
        MPI(MPI_Recv(m, count, type, my_peer, TAG, MPI_COMM_WORLD, &status));
        MPI(MPI_Get_count(&status, type, &n));
        MPI(MPI_Get_elements(&status, type, &elements));
        CHECK(n == count && elements == 6 * count, "count %d elements %d, expected %d %d", n, elements, count,
              6 * count);
        for (int i = 0; i < count; ++i) {
            CHECK(m[i].c == (char) i && m[i].d == i * 0.5 && m[i].s[0] == (short) i && m[i].s[1] == (short) (i + 1) &&
                      m[i].s[2] == (short) (i * 3) && m[i].i == -i,
                  "struct %d of %d is wrong", i, count);
            unsigned char pad = ((unsigned char *) &m[i])[1];
            CHECK(BLANK_VALUE == pad, "padding of struct %d was written", i);
        }
    }
    guarded_free(m, count * sizeof(Mixed));
    MPI(MPI_Type_free(&type));
}

int main(int argc, char **argv) {
    begin(&argc, &argv, 2);
    size_t max = argc > 1 ? strtoul(argv[1], NULL, 0) : (size_t) 8 << 20;
    static const size_t targets[] = {1,     100,   1000,   4000,    4096,    5000,   33000,
                                     66000, 70000, 262144, 1 << 20, 3 << 20, 8 << 20};
    test_note = note;
    make_layouts();
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]) && targets[i] <= max; ++i) {
        all_pairs(targets[i]);
    }
    for (int i = 0; i < n_layouts; ++i) {
        if (layouts[i].high < 1 << 24) {
            static const size_t lengths[] = {0, 1, 7, 1000, 4095, 70001, 500003};
            for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); ++k) {
                partial(&layouts[i], lengths[k]);
            }
            packed(&layouts[i], 3);
            packed(&layouts[i], 300000 / layouts[i].size);
        }
    }
    mixed(1);
    mixed(5);
    mixed(1000);
    mixed(50000);
    for (int i = 0; i < n_layouts; ++i) {
        MPI(MPI_Type_free(&layouts[i].type));
    }
    return finish();
}
