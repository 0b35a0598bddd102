/* The compiled kernels as read-only data; KERNELS_FATBIN comes from CMake. */
    .section .rodata
    .balign 64
    .globl muster_kernels_begin
    .hidden muster_kernels_begin
muster_kernels_begin:
    .incbin KERNELS_FATBIN
    .balign 16
    .section .note.GNU-stack,"",%progbits
