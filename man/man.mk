# The pages that `make install` installs, each into the folder of its section.
MAN_PAGES := $(sort $(wildcard man/*.[1-8]))

.PHONY: man-lint
man-lint:
	$(Q)$(if $(MAN_PAGES),mandoc -Tlint -Wwarning $(MAN_PAGES))
