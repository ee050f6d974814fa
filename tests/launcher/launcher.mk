tests/launcher/elf_test.objects := $(B)/shim/launcher/elf.o
CHECK_DEPS += libcap2-bin
