/* types.h - the element types and reduction operations of the test, as tables.
 *
 * Names are those of nccl-tests. Plain C that nvcc also reads. Decides nothing.
 */
#ifndef MUSTER_WORKER_TYPES_H
#define MUSTER_WORKER_TYPES_H

/* X(name, text, bytes, kind, bits): bits = integers of up to that many bits are exact (the
 * precision p of a float; width less sign for an integer). fp8: OCP 8-bit floating point 1.0.
 */
#define TYPE_TABLE(X)                                                                          \
    X(INT8, "int8", 1, SIGNED, 7)                                                              \
    X(UINT8, "uint8", 1, UNSIGNED, 8)                                                          \
    X(INT32, "int32", 4, SIGNED, 31)                                                           \
    X(UINT32, "uint32", 4, UNSIGNED, 32)                                                       \
    X(INT64, "int64", 8, SIGNED, 63)                                                           \
    X(UINT64, "uint64", 8, UNSIGNED, 64)                                                       \
    X(HALF, "half", 2, FLOAT, 11)                                                              \
    X(FLOAT, "float", 4, FLOAT, 24)                                                            \
    X(DOUBLE, "double", 8, FLOAT, 53)                                                          \
    X(BFLOAT16, "bfloat16", 2, FLOAT, 8)                                                       \
    X(F8E4M3, "f8e4m3", 1, FLOAT, 4)                                                           \
    X(F8E5M2, "f8e5m2", 1, FLOAT, 3)

#define OP_TABLE(X)                                                                            \
    X(SUM, "sum")                                                                              \
    X(PROD, "prod")                                                                            \
    X(MAX, "max")                                                                              \
    X(MIN, "min")                                                                              \
    X(AVG, "avg")

enum type_kind { KIND_SIGNED, KIND_UNSIGNED, KIND_FLOAT };

enum type {
#define X(name, text, bytes, kind, bits) TYPE_##name,
    TYPE_TABLE(X)
#undef X
        TYPE_COUNT
};

enum op {
#define X(name, text) OP_##name,
    OP_TABLE(X)
#undef X
        OP_COUNT
};

#endif
