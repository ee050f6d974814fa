# The rows' own machinery, and the programs they are about. Rows skip what is not there (a JDK, curl, ...).
CHECK_DEPS += binutils busybox cpio git logrotate patch perl python3-minimal rsync tcl unzip xz-utils zip

$(foreach rows,$(wildcard tests/apps/*.c),$(eval $(rows:.c=.objects) := $(B)/tests/apps/row/row.o))
