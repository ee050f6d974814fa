/* Start and end of the library in a process. Neither makes a system call, unless a report has to be written.
 */
#include <errno.h>

#include "config.h"
#include "real.h"
#include "report.h"
#include "sandbox.h"
#include "session.h"

static __attribute__((constructor)) void begin(void)
{
    real_find();
    config_read(program_invocation_short_name);
}

/* Later destructors, and stdio's flush at exit, may still copy: everything goes on working after this. */
static __attribute__((destructor)) void end(void)
{
    int saved = errno;
    if (report_wanted() && !sandbox_is_entered()) {
        session_end();
        report_write();
    }
    errno = saved;
}
