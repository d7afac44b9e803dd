"""The probe: runs scenarios on whatever the student defined, in the student's own kernel, and reports what it saw."""
