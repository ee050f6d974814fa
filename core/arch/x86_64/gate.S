/* The only system call instructions of the library, in one range [xfer_gate_start, xfer_gate_end).
 *
 * Syscall User Dispatch lets calls from one address range pass; it looks at the address behind the
 * instruction, so each instruction here is followed by code of the same range.
 */
        .section .text.xfer_gate, "ax", @progbits
        .balign 64
        .globl  xfer_gate_start
        .hidden xfer_gate_start
xfer_gate_start:

/* long xfer_gate_call(long number, long a, long b, long c, long d, long e, long f) */
        .globl  xfer_gate_call
        .hidden xfer_gate_call
        .type   xfer_gate_call, @function
xfer_gate_call:
        .cfi_startproc
        mov     %rdi, %rax
        mov     %rsi, %rdi
        mov     %rdx, %rsi
        mov     %rcx, %rdx
        mov     %r8, %r10
        mov     %r9, %r8
        mov     8(%rsp), %r9
        syscall
        ret
        .cfi_endproc
        .size   xfer_gate_call, . - xfer_gate_call

/* long xfer_gate_call_from(void *stack, long number, long a, long b): the same with another stack pointer, for calls that
 * depend on where it points. The memory is not used.
 */
        .globl  xfer_gate_call_from
        .hidden xfer_gate_call_from
        .type   xfer_gate_call_from, @function
xfer_gate_call_from:
        mov     %rsp, %r8
        mov     %rsi, %rax
        mov     %rdi, %rsp
        mov     %rdx, %rdi
        mov     %rcx, %rsi
        syscall
        mov     %r8, %rsp
        ret
        .size   xfer_gate_call_from, . - xfer_gate_call_from

/* Where a trapped call of the program is sent when it has to run with the guard still armed. The registers
 * are the program's; the handler has put the address to go on at below the red zone (XFER_GATE_RESUME_FRAME
 * bytes under the program's stack pointer). The kernel clobbers rcx in every system call, so it is free. A jump,
 * not a ret: a shadow stack knows nothing of this address.
 */
        .globl  xfer_gate_resume
        .hidden xfer_gate_resume
        .type   xfer_gate_resume, @function
xfer_gate_resume:
        syscall
        mov     (%rsp), %rcx
        lea     136(%rsp), %rsp
        jmp     *%rcx
        .size   xfer_gate_resume, . - xfer_gate_resume

/* The return from a signal handler; these very bytes are what unwinders look for. The handler of the
 * guard returns here, and so does a trapped rt_sigreturn of the program that has to run under an armed guard.
 */
        .globl  xfer_gate_sigreturn
        .hidden xfer_gate_sigreturn
        .type   xfer_gate_sigreturn, @function
        nop
xfer_gate_sigreturn:
        mov     $15, %rax
        syscall
        ud2
        .size   xfer_gate_sigreturn, . - xfer_gate_sigreturn

        .globl  xfer_gate_end
        .hidden xfer_gate_end
xfer_gate_end:
        .section .note.GNU-stack, "", @progbits
