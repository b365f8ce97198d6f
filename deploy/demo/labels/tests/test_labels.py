from parcel.labels import WIDTH, address, customs_notice, heading, label


def test_heading_names_the_service():
    assert heading("P7", "express") == ["PARCEL", "P7 EXPRESS"]


def test_address_leaves_out_what_is_missing():
    assert address("A. Lind", "Hafen 1", None, "NO") == ["A. Lind", "Hafen 1", "NO"]
    assert address("A" * 40, "Hafen 1", "Oslo", "NO", ["c/o B"])[0] == "A" * WIDTH


def test_customs_only_across_the_border():
    assert customs_notice("DE", "NO") == "CUSTOMS DECLARATION ENCLOSED"
    assert customs_notice("DE", "AT") == "NO CUSTOMS"


def test_label_in_order():
    assert label("P7", "express", ["Oslo"], "DE", "NO").splitlines()[-2:] == ["Oslo", "CUSTOMS DECLARATION ENCLOSED"]
