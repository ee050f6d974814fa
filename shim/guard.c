#include "guard.h"

#include <errno.h>
#include <linux/audit.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include "clock.h"
#include "maps.h"
#include "sys.h"

/* Linux 5.11, include/uapi/linux/prctl.h and asm-generic/siginfo.h; for older headers. */
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF 0
#define PR_SYS_DISPATCH_ON 1
#endif
#ifndef SYS_USER_DISPATCH
#define SYS_USER_DISPATCH 2
#endif
#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000
#endif
#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

/* SYSCALL_DISPATCH_FILTER_BLOCK */
#define SELECTOR_ALLOW 0
#define SELECTOR_BLOCK 1

/* Beside the signal frame the handler needs about 1.2 KiB as compiled (gcc -fstack-usage), on its deepest
 * way, which looks up a mapping. Handlers of the program that run on this much or more are not written to use
 * the last of it.
 */
#define LARGE_STACK 32768
/* The stack that is ours: room for the handler and a frame of the largest register state known (AMX, 11 KiB).
 */
#define OUR_STACK_SIZE ((size_t)64 << 10)
/* How far up from the trapped call signal frames of the program are looked for, bytes: the usual
 * RLIMIT_STACK. It takes a millisecond, but only under a handler with that much on the stack.
 */
#define FRAMES_SEARCHED ((uintptr_t)8 << 20)
/* A frame's vector registers follow it within this many bytes. */
#define FRAME_LARGEST 65536

/* The part of a frame that tells one: all before the vector registers. */
#define FRAME_LOOKED_AT (offsetof(ucontext_t, uc_mcontext) + sizeof(mcontext_t))
/* arch/x86/include/asm/segment.h, __USER_CS */
#define USER_CODE_SEGMENT 0x33

static struct {
    volatile bool armed;
    signals_mask not_asking;              /* signals whose SA_ONSTACK is lifted for the session */
    struct signals_action program_action; /* for SIGSYS, before the session */
    bool our_stack;                       /* the alternate stack is ours for the session */
    stack_t program_stack;                /* what it was before */
    struct xfer_range stack;              /* memory of the stack that the program ran on at the start */
    signals_mask handled, mask_at_start;
    bool unmasked; /* a handler may run without a trace in the mask */
    guard_decide *decide;
    bool leased; /* notices about this descriptor are ours */
    int leased_fd;
    ucontext_t *context; /* inside the handler */
} guard;

static volatile char selector = SELECTOR_BLOCK;
static char our_stack[OUR_STACK_SIZE] __attribute__((aligned(64)));

static int dispatch(long mode, const void *start, size_t length, const volatile char *with)
{
    return (int)XFER_SYS(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, mode, start, length, with);
}

static void send_sigsys(void)
{
    long thread = XFER_SYS(SYS_gettid);
    XFER_SYS(SYS_tgkill, sys_getpid(), thread, SIGSYS);
}

/* True for the alternate stack in a whole signal frame of the kernel that saved ours. Old stack contents may
 * look like parts of one, hence the fields around it.
 */
static bool is_frame(const ucontext_t *frame)
{
    const uintptr_t state = (uintptr_t)frame->uc_mcontext.fpregs;
    return frame->uc_stack.ss_sp == our_stack && frame->uc_stack.ss_size == OUR_STACK_SIZE &&
           frame->uc_stack.ss_flags == 0 && frame->uc_link == NULL && frame->uc_flags < 256 &&
           (frame->uc_mcontext.gregs[REG_CSGSFS] & 0xffff) == USER_CODE_SEGMENT && state > (uintptr_t)frame &&
           state - (uintptr_t)frame < FRAME_LARGEST;
}

/* The frames of the program's own handlers that are on the stack now hold the alternate stack of the time
 * when they were pushed, ours, and will bring it back when they return. Looks for them from `sp` on and
 * writes as little as will do.
 */
static void mend_frames(uintptr_t sp)
{
    struct xfer_range stack = guard.stack;
    if (sp < stack.start || sp >= stack.end)
        stack = maps_memory(sp);
    uintptr_t end = stack.end;
    if (end > sp && end - sp > FRAMES_SEARCHED)
        end = sp + FRAMES_SEARCHED;
    for (uintptr_t at = (sp + 7) & ~(uintptr_t)7; at + FRAME_LOOKED_AT <= end; at += 8) {
        ucontext_t *frame = (ucontext_t *)at;
        if (!is_frame(frame))
            continue;
        if (guard.program_stack.ss_flags & SS_DISABLE)
            frame->uc_stack.ss_flags = SS_DISABLE;
        else
            frame->uc_stack = guard.program_stack;
    }
}

/* Whether a handler of the program may be running, to go by the signals that are blocked. */
static bool inside_handler(signals_mask mask)
{
    return guard.handled && (mask != guard.mask_at_start || guard.unmasked);
}

static void restore_stack(signals_mask mask)
{
    if (!guard.our_stack)
        return;
    guard.our_stack = false;
    signals_set_on_stack(guard.not_asking, true);
    if (guard.context) {
        /* The handler runs on it, where the kernel refuses a change. From Linux 6.12 on the return from the
         * handler does not bring about one either: the frame's alternate stack is restored before its stack
         * pointer.
         */
        void *elsewhere = (void *)xfer_gate_start;
        guard.context->uc_stack = guard.program_stack;
        xfer_gate_call_from(elsewhere, SYS_sigaltstack, (long)&guard.program_stack, 0);
        __builtin_memcpy(&mask, &guard.context->uc_sigmask, sizeof(mask));
        if (inside_handler(mask))
            mend_frames((uintptr_t)guard.context->uc_mcontext.gregs[REG_RSP]);
    } else {
        XFER_SYS(SYS_sigaltstack, &guard.program_stack, NULL);
        if (inside_handler(mask))
            mend_frames((uintptr_t)__builtin_frame_address(0));
    }
}

/* A notice that came while the handler ran is still pending, and would kill once the disposition is the
 * program's. What somebody has sent is sent again.
 */
static void forget_notices(void)
{
    signals_mask sigsys = SIGNALS_BIT(SIGSYS);
    struct timespec none = {0};
    siginfo_t info;
    if (guard.leased && guard.context &&
        XFER_SYS(SYS_rt_sigtimedwait, &sigsys, &info, &none, sizeof(sigsys)) == SIGSYS &&
        info.si_code != SI_SIGIO)
        send_sigsys();
    guard.leased = false;
}

void guard_expect_notices(int fd)
{
    guard.leased_fd = fd;
    guard.leased = true;
}

void guard_disarm(signals_mask mask)
{
    if (!guard.armed)
        return;
    guard.armed = false;
    forget_notices();
    selector = SELECTOR_ALLOW; /* should the call be refused, nothing is trapped all the same */
    dispatch(PR_SYS_DISPATCH_OFF, NULL, 0, NULL);
    signals_action(SIGSYS, &guard.program_action, NULL);
    restore_stack(mask);
}

bool guard_is_armed(void)
{
    return guard.armed;
}

/* Lets the trapped call run inside the gate, and the program go on behind its own instruction. rt_sigreturn
 * finds its frame by the stack pointer and does not come back.
 */
static void pass(ucontext_t *context, long number)
{
    greg_t *regs = context->uc_mcontext.gregs;
    if (number == SYS_rt_sigreturn) {
        regs[REG_RIP] = (greg_t)xfer_gate_sigreturn;
        return;
    }
    regs[REG_RSP] -= XFER_GATE_RESUME_FRAME;
    *(greg_t *)regs[REG_RSP] = regs[REG_RIP];
    regs[REG_RIP] = (greg_t)xfer_gate_resume;
}

static void on_trap(const siginfo_t *info, ucontext_t *context)
{
    greg_t *regs = context->uc_mcontext.gregs;
    struct guard_trap trap = {
        .number = info->si_arch == AUDIT_ARCH_X86_64 ? info->si_syscall : GUARD_FOREIGN,
        .argument = {regs[REG_RDI], regs[REG_RSI], regs[REG_RDX], regs[REG_R10], regs[REG_R8], regs[REG_R9]},
    };
    long result = 0;
    if (trap.number == SYS_clock_gettime && xfer_clock_inside()) { /* our own, by way of the vDSO */
        xfer_clock_use_gate();
        regs[REG_RAX] = XFER_SYS(SYS_clock_gettime, trap.argument[0], trap.argument[1]);
        return;
    }
    switch (guard.decide(&trap, &result)) {
    case GUARD_RERUN:
        regs[REG_RIP] -= 2; /* syscall and int $0x80 are two bytes; rax still is the number */
        break;
    case GUARD_RETURN:
        regs[REG_RAX] = result;
        break;
    case GUARD_PASS:
        pass(context, trap.number);
        break;
    }
}

static void on_sigsys(int number, siginfo_t *info, void *context);

static int set_handler(signals_mask mask, struct signals_action *old)
{
    struct signals_action action = {
        .handler = (uintptr_t)on_sigsys,
        .flags = SA_SIGINFO | SA_ONSTACK | SA_RESTORER,
        .restorer = (uintptr_t)xfer_gate_sigreturn,
        .mask = mask,
    };
    return signals_action(SIGSYS, &action, old);
}

/* Somebody sent SIGSYS: the program dies of it as it would have, with its bytes written. */
static void die(void)
{
    struct guard_trap none = {.number = GUARD_SENT};
    long result;
    if (guard.armed)
        guard.decide(&none, &result);
    struct signals_action standard = {.handler = (uintptr_t)SIG_DFL};
    signals_action(SIGSYS, &standard, NULL);
    send_sigsys();
    if (guard.armed && sys_getpid() == 1) /* the init of a pid namespace does not die of it */
        set_handler(guard.handled, NULL);
}

/* A lease that is being broken, or was when we gave it up. */
static void on_notice(void)
{
    struct guard_trap none = {.number = GUARD_LEASE};
    long result;
    guard.decide(&none, &result);
}

static void on_sigsys(int number, siginfo_t *info, void *context)
{
    (void)number;
    guard.context = context;
    if (info->si_code == SYS_USER_DISPATCH)
        on_trap(info, context);
    else if (info->si_code == SI_SIGIO && guard.leased && info->si_fd == guard.leased_fd)
        on_notice();
    else
        die();
    guard.context = NULL;
}

void guard_block_all(void)
{
    set_handler(SIGNALS_ALL, NULL);
}

/* The handler must not run on the program's own stack, which may be that of a small coroutine when a call
 * traps. An alternate stack of the program on which its own handlers run is used if it is so large that they
 * will not miss what we need of it. One that no handler uses may be memory that has long been given another
 * use: ours takes its place for the session, and stands in where there is none. Handlers that ask for an
 * alternate stack where there is none (CPython's) run on the ordinary one, and go on doing so: for the
 * session they do not ask.
 */
static enum refusal choose_stack(const struct signals_survey *survey)
{
    int rc = (int)XFER_SYS(SYS_sigaltstack, NULL, &guard.program_stack);
    if (rc < 0 || guard.program_stack.ss_flags & SS_ONSTACK ||
        (unsigned)guard.program_stack.ss_flags & SS_AUTODISARM)
        return REFUSAL_ALT_STACK;
    guard.our_stack = false;
    guard.not_asking = 0;
    if (guard.program_stack.ss_sp == our_stack) /* brought back by a frame that mend_frames() did not reach */
        guard.program_stack = (stack_t){.ss_flags = SS_DISABLE};
    if (survey->on_stack && !(guard.program_stack.ss_flags & SS_DISABLE))
        return guard.program_stack.ss_size >= LARGE_STACK ? REFUSAL_NONE : REFUSAL_ALT_STACK;
    stack_t ours = {.ss_sp = our_stack, .ss_size = OUR_STACK_SIZE};
    if (XFER_SYS(SYS_sigaltstack, &ours, NULL) < 0)
        return REFUSAL_ALT_STACK;
    guard.our_stack = true;
    guard.not_asking = survey->on_stack;
    signals_set_on_stack(guard.not_asking, false);
    return REFUSAL_NONE;
}

enum refusal guard_arm(const struct signals_survey *survey, struct xfer_range stack, guard_decide *decide)
{
    enum refusal refused = choose_stack(survey);
    if (refused != REFUSAL_NONE)
        return refused;
    guard.stack = stack;
    guard.handled = survey->handled;
    guard.unmasked = survey->unmasked;
    guard.mask_at_start = survey->blocked;
    guard.decide = decide;
    int rc = set_handler(survey->handled, &guard.program_action);
    if (rc == 0) {
        size_t length = (size_t)(xfer_gate_end - xfer_gate_start);
        guard.armed = true;
        selector = SELECTOR_BLOCK;
        rc = dispatch(PR_SYS_DISPATCH_ON, xfer_gate_start, length, &selector);
    }
    if (rc < 0) {
        guard_disarm(survey->blocked);
        restore_stack(survey->blocked);
        return REFUSAL_NO_GUARD;
    }
    return REFUSAL_NONE;
}

void guard_try(void)
{
    struct signals_survey survey = {0};
    struct signals_action action;
    guard_arm(&survey, (struct xfer_range){0}, NULL);
    guard_disarm(0);
    signals_action(SIGSYS, NULL, &action);
}
